"""Settings of a node's kubelet and of its kernel (GKE API: NodeKubeletConfig, LinuxNodeConfig)."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from typing_extensions import Doc

from settings.facts.tables import table
from settings.model.base import Model, refuse, whole_number_as_text
from settings.problems import did_you_mean

HUGEPAGE_BYTES: Mapping[str, int] = {"2Mi": 2 * 1024**2, "1Gi": 1024**3}


def sysctl_range(name: str) -> tuple[int, int] | None:
    """Returns the least and the greatest value of a kernel parameter; None if it is not a number."""
    bounds: list[int] = table("sysctls").facts.get(name, [])
    return (bounds[0], bounds[1]) if bounds else None


def _sysctl(name: str) -> str:
    facts = table("sysctls").facts
    if name not in facts:
        refuse(
            "a kernel parameter that GKE sets (GKE API: LinuxNodeConfig.sysctls; settings/facts)",
            did_you_mean(name, facts, shown=3),
        )
    return name


Sysctl = Annotated[str, AfterValidator(_sysctl), Doc("kernel parameter")]
SysctlValue = Annotated[str, BeforeValidator(whole_number_as_text), Doc("whole number or text")]


class Kubelet(Model):
    """The kubelet of each node; GKE's defaults where unset (GKE API: NodeKubeletConfig)."""

    cpu_manager_policy: Literal["none", "static"] | None = None
    """`static`: containers with whole CPUs in Guaranteed pods have these CPUs to themselves."""
    memory_manager_policy: Literal["none", "static"] | None = None
    """`static`: memory and huge pages of Guaranteed pods are in as few NUMA nodes as possible."""
    topology_manager_policy: Literal["none", "best-effort", "restricted", "single-numa-node"] | None = None
    """Alignment of a pod's CPUs, memory and devices to NUMA nodes: preferred (`best-effort`), or required, so
    that other pods fail (`restricted`: as few NUMA nodes as possible, `single-numa-node`: one)."""
    topology_manager_scope: Literal["container", "pod"] | None = None
    """Unit of alignment: each container, or a pod as a whole."""
    pod_pids_limit: Annotated[int, Field(ge=1024, le=4194303)] | None = None
    """The most processes and threads in a pod; Ray starts hundreds on a node with many CPUs."""


class Linux(Model):
    """The kernel of each node (GKE API: LinuxNodeConfig)."""

    sysctls: dict[Sysctl, SysctlValue] = Field(default_factory=dict)
    """Kernel parameters by name, such as net.core.somaxconn: 2048, also of all pods on the node."""
    hugepages: dict[Literal["2Mi", "1Gi"], Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    """Number of huge pages by size. Pods request them as hugepages-2Mi and hugepages-1Gi; their memory is no
    longer available otherwise. Pages of 1 GiB need a machine series that has them (GKE, node system
    configuration)."""

    @property
    def hugepage_bytes(self) -> int:
        """Memory that is set aside for huge pages, in bytes."""
        return sum(HUGEPAGE_BYTES[size] * count for size, count in self.hugepages.items())
