"""Rules of node pools."""

from collections.abc import Iterator

from settings.facts.tables import table
from settings.model.foundation.existing import Existing
from settings.model.foundation.place import GkePlace, zones_of
from settings.model.pools.parts import DaemonSets
from settings.model.pools.pool import Pool
from settings.model.pools.values import POOL_NAME
from settings.model.stack import Settings
from settings.problems import Finding
from settings.rules.names import unique
from settings.rules.registry import rule

NODES_MAX: int = table("limits").facts["nodes_per_cluster"]
NODES_PER_ZONE: int = table("limits").facts["nodes_per_pool_and_zone"]
ZONES_OF_A_REGION = 3  # that GKE chooses if none are given


@rule("pools")
def pool_names_are_unique(settings: Settings) -> Iterator[Finding]:
    """Names of node pools in GKE and of flavors are unique; a pool of TPU slices or NVLink domains has a
    node pool for each (GKE API: NodePool.name)."""
    pools = settings.pools
    yield from unique(((("muster:pools", i, "name"), pool.name) for i, pool in enumerate(pools)), "pool name")
    taken = {pool.name for pool in pools if not pool.flavor}
    for i, pool in enumerate(pools):
        if pool.flavor in taken:
            yield Finding(
                ("muster:pools", i, "flavor"),
                "a unique flavor: a flavor is one kind of node",
                f"{pool.flavor} is already in use; choose another name",
            )
        taken.add(pool.flavor_name)
    numbered = {name: pool for pool in pools if pool.numbered for name in pool.node_pools}
    for i, pool in enumerate(pools):
        if other := numbered.get(pool.name):
            yield Finding(
                ("muster:pools", i, "name"),
                f"a unique name: {pool.name} is a node pool of {other.name} (GKE API: NodePool.name)",
                "choose another name",
            )


@rule("pools")
def numbered_names_have_room(settings: Settings) -> Iterator[Finding]:
    """Names of the node pools of slices and NVLink domains have at most 36 characters (GKE API:
    NodePool.name)."""
    for i, pool in enumerate(settings.pools):
        if not all(POOL_NAME.fullmatch(name) for name in pool.node_pools):
            yield Finding(
                ("muster:pools", i, "name"),
                f"a name with which that of its last node pool, {pool.node_pools[-1]}, has at most 36 "
                "characters (GKE API: NodePool.name)",
                "choose a shorter one",
            )


@rule("cluster", "pools")
def node_counts_are_in_order(settings: Settings) -> Iterator[Finding]:
    """A pool has at least `min` and at most `max` nodes; `initial` counts per zone, the others over all zones
    (GKE API: NodePool.initialNodeCount, NodePoolAutoscaling)."""
    for i, pool in enumerate(settings.pools):
        if pool.nodes_max > NODES_MAX:
            yield Finding(
                ("muster:pools", i, *(("slices", "max") if pool.slices else ("nodes", "max"))),
                f"at most {NODES_MAX} nodes, the most of a cluster (GKE, quotas and limits)",
                "lower it",
            )
    for i, pool in enumerate(settings.pools):
        nodes, path = pool.nodes, ("muster:pools", i, "nodes")
        if nodes is None:
            continue
        if nodes.min > nodes.max:
            yield Finding(
                (*path, "min"), f"at most nodes.max, which is {nodes.max}", "lower `min` or raise `max`"
            )
        zones = _zones(settings.place, pool)
        if nodes.initial is not None and nodes.initial * zones > nodes.max:
            at_first = f"; {nodes.initial} in each of {zones} zones are {nodes.initial * zones}"
            yield Finding(
                (*path, "initial"),
                f"at most nodes.max, which is {nodes.max}{at_first if zones > 1 else ''}",
                "lower `initial` or raise `max`",
            )


@rule("cluster", "pools")
def zones_hold_the_nodes(settings: Settings) -> Iterator[Finding]:
    """A node pool has at most 1,000 nodes in a zone (GKE, quotas and limits)."""
    for i, pool in enumerate(settings.pools):
        zones = _zones(settings.place, pool)
        if settings.place and not pool.numbered and zones * NODES_PER_ZONE < pool.nodes_max <= NODES_MAX:
            yield Finding(
                ("muster:pools", i, "nodes", "max"),
                f"at most {zones * NODES_PER_ZONE}: a node pool has up to {NODES_PER_ZONE} nodes in a zone, "
                f"and this one is in {zones} (GKE, quotas and limits)",
                "lower it, add zones, or split the pool",
            )


@rule("pools")
def nodes_have_room_for_pods(settings: Settings) -> Iterator[Finding]:
    """A node runs more pods than its DaemonSets have: with `maxPodsPerNode: 8` GKE's own take all of them
    (GKE, "Configure maximum Pods per node")."""
    for i, pool in enumerate(settings.pools):
        taken = (pool.daemon_sets or DaemonSets()).requests["pods"]
        if pool.max_pods_per_node is not None and pool.max_pods_per_node <= taken:
            yield Finding(
                ("muster:pools", i, "maxPodsPerNode"),
                f"more than {taken}, the pods of DaemonSets on each node: no other pod would fit (GKE, "
                "maximum Pods per node)",
                "raise it, such as to 16, or write what the DaemonSets take in `daemonSets`",
            )


def _zones(place: GkePlace | None, pool: Pool) -> int:
    """Returns the number of zones of a pool's nodes; GKE chooses three for a regional cluster without any."""
    return len(zones_of(pool, place)) or ZONES_OF_A_REGION if place else 1


@rule("cluster", "pools")
def existing_pools_are_in_existing_clusters(settings: Settings) -> Iterator[Finding]:
    """Pools are `existing` only in a GKE cluster created elsewhere, to which the stack may add others (GKE
    API: NodePool)."""
    for i, pool in enumerate(settings.pools):
        if pool.existing and not (isinstance(settings.cluster, Existing) and settings.cluster.gke):
            yield Finding(
                ("muster:pools", i, "existing"),
                "no value: it marks the pools that a GKE cluster created elsewhere already has "
                "(kind existing, with `gke`)",
                "remove it",
            )


@rule("pools")
def some_pool_is_not_queued(settings: Settings) -> Iterator[Finding]:
    """One pool at least is not queued, for system pods, KubeRay, the controller and Ray heads (GKE, queued
    provisioning)."""
    if all(pool.scheduled for pool in settings.pools):
        yield Finding(
            ("muster:pools",),
            "a pool that is not queued, for system pods and Ray heads (GKE, queued provisioning)",
            "add one, such as {name: system, machineType: e2-standard-4, nodes: {min: 1, max: 3}}",
        )
