"""Rules of the kubelet's and the kernel's settings of a pool's nodes."""

from collections.abc import Iterator

from settings.facts.tables import table
from settings.model.pools.allocatable import GIB
from settings.model.pools.node_system import sysctl_range
from settings.model.stack import Settings
from settings.problems import Doubt, Finding
from settings.rules.registry import doubt, rule

# The part of a node's memory that huge pages may take, in percent, below this size and from it on.
LARGE_GIB, OF_SMALL, OF_LARGE = 30, 60, 80


@rule("pools")
def sysctls_are_in_range(settings: Settings) -> Iterator[Finding]:
    """Kernel parameters have values that GKE accepts (compute-class-api: SysctlsConfig, August 2026;
    settings/facts/sysctls.toml)."""
    for i, pool in enumerate(settings.pools):
        for name, value in pool.linux.sysctls.items() if pool.linux else ():
            allowed = sysctl_range(name)
            if allowed and not (_is_number(value) and allowed[0] <= int(value) <= allowed[1]):
                yield Finding(
                    ("muster:pools", i, "linux", "sysctls", name),
                    f"a whole number from {allowed[0]} to {allowed[1]} ({table('sysctls').source})",
                    "choose another value, or remove it",
                )


@rule("pools")
def hugepages_fit_into_memory(settings: Settings) -> Iterator[Finding]:
    """Huge pages take at most 60 % of a node's memory, and 80 % from 30 GB on (GKE, "Customize node system
    configuration", November 2026)."""
    for i, pool in enumerate(settings.pools):
        part = OF_SMALL if pool.machine.memory_gib < LARGE_GIB else OF_LARGE
        most = pool.machine.memory_gib * GIB * part // 100
        if pool.linux and pool.linux.hugepage_bytes > most:
            yield Finding(
                ("muster:pools", i, "linux", "hugepages"),
                f"huge pages of at most {most / GIB:.1f} GiB, {part} % of the memory of {pool.machine_type}; "
                f"these are {pool.linux.hugepage_bytes / GIB:.1f} GiB (GKE, node system configuration)",
                "lower the counts, or choose a larger machine type",
            )


@doubt("pools")
def hugepages_may_be_unavailable(settings: Settings) -> Iterator[Doubt]:
    """Pages of 1 GiB need a machine series that has them (GKE, "Customize node system configuration";
    settings/facts/hugepages.toml)."""
    facts = table("hugepages")
    for i, pool in enumerate(settings.pools):
        series = pool.machine_type.partition("-")[0]
        if pool.linux and "1Gi" in pool.linux.hugepages and series not in facts.facts["series_of_1gi"]:
            yield Doubt(
                ("muster:pools", i, "linux", "hugepages"),
                f"{series} machines were not known to have pages of 1 GiB on {facts.date}: GKE may refuse to "
                "create the pool; 2Mi works everywhere",
                facts.source,
            )


@rule("pools")
def scopes_are_of_a_policy(settings: Settings) -> Iterator[Finding]:
    """A scope of alignment is that of a policy, which is `none` if unset (Kubernetes, "Control Topology
    Management Policies on a node")."""
    for i, pool in enumerate(settings.pools):
        kubelet = pool.kubelet
        if kubelet and kubelet.topology_manager_scope and kubelet.topology_manager_policy in (None, "none"):
            yield Finding(
                ("muster:pools", i, "kubelet", "topologyManagerScope"),
                "no value: without `topologyManagerPolicy` nothing is aligned (Kubernetes, topology manager)",
                "remove it, or write topologyManagerPolicy: best-effort",
            )


@doubt("pools")
def topology_is_not_aligned(settings: Settings) -> Iterator[Doubt]:
    """Without static managers of CPUs or memory, only devices are aligned to NUMA nodes (Kubernetes, "Control
    Topology Management Policies on a node")."""
    for i, pool in enumerate(settings.pools):
        kubelet = pool.kubelet
        if kubelet is None or kubelet.topology_manager_policy in (None, "none"):
            continue
        if "static" not in (kubelet.cpu_manager_policy, kubelet.memory_manager_policy):
            yield Doubt(
                ("muster:pools", i, "kubelet", "topologyManagerPolicy"),
                "it aligns devices only; write cpuManagerPolicy: static for CPUs, and memoryManagerPolicy: "
                "static for memory",
                "Kubernetes, topology manager",
            )


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdecimal()
