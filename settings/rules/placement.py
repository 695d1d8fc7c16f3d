"""Rules of the placement of a pool's nodes: zones, compact placement, and topology levels."""

from collections.abc import Iterator
from itertools import pairwise

from settings.model.foundation.place import GkePlace, zones_of
from settings.model.pools.pool import Pool
from settings.model.stack import Settings
from settings.problems import Finding, Path
from settings.rules.engines import engine_section
from settings.rules.labels import owning_domain
from settings.rules.provisioning import ways_to_get_nodes
from settings.rules.registry import rule

# GKE, "Define compact placement for GKE nodes"; cluster-toolkit, gke-node-pool.
COMPACT = ("n2-", "h4d-", "g2-", "a2-", "a3-", "a4-")
NVLINK = "a4x-"
FLEX_COMPACT = ("a3-ultragpu-", "a4-", "h4d-")


@rule("cluster", "pools")
def zones_are_the_clusters(settings: Settings) -> Iterator[Finding]:
    """A pool's zones are in the cluster's region (GKE API: NodePool.locations)."""
    if settings.place is None:
        return
    region = settings.place.region
    for path, pool in ways_to_get_nodes(settings):
        for j, zone in enumerate(pool.zones):
            if not zone.startswith(f"{region}-"):
                yield Finding(
                    (*path, "zones", j),
                    f"a zone of {region}, where the cluster is (GKE API: NodePool.locations)",
                    f"choose one, such as {region}-a",
                )


@rule("cluster", "pools")
def compact_placement_is_supported(settings: Settings) -> Iterator[Finding]:
    """Compact placement and NVLink domains are in one zone, for machine types, provisioning and upgrades that
    support them (GKE, "Define compact placement for GKE nodes"; cluster-toolkit, gke-node-pool, gke-a4x)."""
    for i, pool in enumerate(settings.pools):
        if pool.placement is None:
            continue
        path: Path = ("muster:pools", i)
        if refused := _why_not_nvlink(pool) if pool.placement == "nvlink" else _why_not_compact(pool):
            yield Finding(
                (*path, "placement"), f"{refused} (cluster-toolkit, gke-node-pool)", "remove `placement`"
            )
        # Slices are always compact; `tpus.slices_are_in_one_zone` checks their zone.
        if settings.place and not pool.slices:
            yield from _in_one_zone(pool, settings.place, path)
        if pool.upgrade and pool.upgrade.strategy == "blue-green":
            yield Finding(
                (*path, "upgrade", "strategy"),
                "surge: compact pools do not support blue-green upgrades (cluster-toolkit, gke-node-pool)",
                "write surge, or remove `placement`",
            )


def _why_not_compact(pool: Pool) -> str | None:
    if pool.tpu:
        single = "no placement: single-host TPU slices have one node each"
        return None if pool.multi_host else single
    if not pool.machine_type.startswith(COMPACT):
        series = ", ".join(prefix.rstrip("-") for prefix in COMPACT)
        return (
            f"no placement: {pool.machine_type} does not support it, only {series} machines and TPU slices do"
        )
    if pool.queued:
        return "no placement: queued provisioning supports compact placement for TPUs only"
    if pool.provisioning == "flex-start" and not pool.machine_type.startswith(FLEX_COMPACT):
        return "no placement: flex-start supports compact placement for a3-ultragpu, a4 and h4d machines only"
    return None


def _why_not_nvlink(pool: Pool) -> str | None:
    if not pool.machine_type.startswith(NVLINK):
        return f"no NVLink domains: {pool.machine_type} has none, only a4x machines do"
    return None


def _in_one_zone(pool: Pool, cluster: GkePlace, path: Path) -> Iterator[Finding]:
    if len(zones_of(pool, cluster)) != 1:
        yield Finding(
            (*path, "zones"),
            "a single zone: compact placement does not span zones (cluster-toolkit, gke-node-pool)",
            "add `zones: [<zone>]`, or remove `placement`",
        )


HOSTNAME = "kubernetes.io/hostname"
LEVELS_MAX = 16
# GKE's and Kubernetes' labels of domains, the largest domain first (GKE, topology-aware scheduling).
NESTED = (
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "cloud.google.com/gce-topology-block",
    "cloud.google.com/gce-topology-subblock",
    "cloud.google.com/gce-topology-host",
    HOSTNAME,
)


@rule("pools")
def levels_are_kueues(settings: Settings) -> Iterator[Finding]:
    """A pool has at most 16 levels, and single nodes only as the last one (Kueue, apis/kueue/v1beta2,
    topology_types.go)."""
    for i, pool in enumerate(settings.pools):
        path: Path = ("muster:pools", i, "topology")
        if len(pool.topology) > LEVELS_MAX:
            yield Finding(path, f"at most {LEVELS_MAX} levels (Kueue, Topology)", "remove some")
        if HOSTNAME in pool.topology[:-1]:
            yield Finding(
                (*path, pool.topology.index(HOSTNAME)),
                "another level: single nodes are below all other levels (Kueue, Topology)",
                "put it at the end",
            )


@rule("pools")
def levels_are_nested(settings: Settings) -> Iterator[Finding]:
    """Each level is a part of the one before it: a gang that asks for a level is placed in one domain of all
    levels above (Kueue, Topology; GKE, "Optimize AI workload scheduling with Topology Aware Scheduling")."""
    for i, pool in enumerate(settings.pools):
        ranks = [(NESTED.index(level), j) for j, level in enumerate(pool.topology) if level in NESTED[:-1]]
        for (above, _), (rank, j) in pairwise(ranks):
            if rank < above:
                yield Finding(
                    ("muster:pools", i, "topology", j),
                    f"a level inside {NESTED[above]}, which is above it: the largest first (Kueue, Topology)",
                    f"put {NESTED[rank]} before {NESTED[above]}",
                )


@rule("cluster", "pools")
def levels_are_on_nodes(settings: Settings) -> Iterator[Finding]:
    """Levels are labels of the nodes that this stack creates: GKE's, Kubernetes' or the pool's own; without
    the label a node is in no domain, and gets no pods of such gangs (Kueue, Topology)."""
    for i, pool in enumerate(settings.pools):
        for j, level in enumerate(pool.topology if not pool.existing and settings.place else ()):
            if not owning_domain(level) and level not in pool.labels:
                yield Finding(
                    ("muster:pools", i, "topology", j),
                    "a label of this pool's nodes: one of GKE's, such as cloud.google.com/gce-topology-block "
                    "and kubernetes.io/hostname (Kueue, Topology)",
                    f"choose one, or add {level} to the pool's `labels`",
                )


@rule("pools", "admission")
def levels_are_used(settings: Settings) -> Iterator[Finding]:
    """Levels are of flavors, which engine kai does not have (Kueue: ResourceFlavorSpec.topologyName)."""
    for i, pool in enumerate(settings.pools):
        if pool.topology and settings.admission.engine == "kai":
            yield Finding(
                ("muster:pools", i, "topology"),
                "no levels: they belong to a flavor's Topology, and engine kai has no flavors",
                "remove it, or choose engine: muster (or kueue)",
            )


@rule("pools", "kueue", "admission", "controller")
def levels_are_not_off(settings: Settings) -> Iterator[Finding]:
    """Topologies need the gate TopologyAwareScheduling, which is on by default (Kueue,
    pkg/features/kube_features.go)."""
    key, section = engine_section(settings) or ("", None)
    if section is None or section.feature_gates.get("TopologyAwareScheduling", True):
        return
    for i, pool in enumerate(settings.pools):
        if pool.topology:
            yield Finding(
                ("muster:pools", i, "topology"),
                f"no levels: {key}.featureGates turns TopologyAwareScheduling off",
                "remove the gate, or `topology`",
            )
