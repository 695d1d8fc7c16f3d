"""Rules of node pools."""

from collections.abc import Iterator

from settings.model.foundation.existing import Existing
from settings.model.stack import Settings
from settings.problems import Finding
from settings.rules.names import unique


def pool_names_are_unique(settings: Settings) -> Iterator[Finding]:
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


def node_counts_are_in_order(settings: Settings) -> Iterator[Finding]:
    for i, pool in enumerate(settings.pools):
        nodes, path = pool.nodes, ("muster:pools", i, "nodes")
        if nodes is None:
            continue
        if nodes.min > nodes.max:
            yield Finding(
                (*path, "min"), f"at most nodes.max, which is {nodes.max}", "lower `min` or raise `max`"
            )
        if nodes.initial is not None and nodes.initial > nodes.max:
            yield Finding(
                (*path, "initial"),
                f"at most nodes.max, which is {nodes.max}",
                "lower `initial` or raise `max`",
            )


def existing_pools_are_in_existing_clusters(settings: Settings) -> Iterator[Finding]:
    for i, pool in enumerate(settings.pools):
        if pool.existing and not (isinstance(settings.cluster, Existing) and settings.cluster.gke):
            yield Finding(
                ("muster:pools", i, "existing"),
                "no value: it tells the pools of a GKE cluster made elsewhere from those that the stack adds "
                "to it (kind existing, with `gke`)",
                "remove it",
            )


def some_pool_is_not_queued(settings: Settings) -> Iterator[Finding]:
    """GKE requires one for system pods; KubeRay, the controller and Ray heads run there too."""
    if all(pool.scheduled for pool in settings.pools):
        yield Finding(
            ("muster:pools",),
            "a pool that is not queued, for system pods and Ray heads (GKE, queued provisioning)",
            "add one, such as {name: system, machineType: e2-standard-4, nodes: {min: 1, max: 3}}",
        )
