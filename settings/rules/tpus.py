"""Rules of TPUs: the slices that a machine type is part of, and the node pools that these take."""

from collections.abc import Iterator

from settings.model.foundation.cluster import Gke
from settings.model.pools.placement import zones_of
from settings.model.pools.tpus import is_topology_of, smallest_topology
from settings.model.pools.values import POOL_NAME
from settings.model.stack import Settings
from settings.problems import Finding, Path


def topologies_suit_machines(settings: Settings) -> Iterator[Finding]:
    for i, pool in enumerate(settings.pools):
        machine, path = pool.machine, ("muster:pools", i, "tpu")
        if pool.tpu and not machine.tpu_chips:
            yield Finding(
                path,
                f"no TPU: {pool.machine_type} carries none",
                "remove `tpu`, or choose a ct5lp, ct5p, ct6e or tpu7x machine",
            )
        elif machine.tpu_chips and not pool.tpu:
            smallest = smallest_topology(machine)
            yield Finding(
                path,
                f"the topology that {pool.machine_type} is used in (GKE, Plan TPUs)",
                f"add `tpu: {{topology: {smallest}}}` for single machines, or a larger one for slices",
            )
        elif pool.tpu and not is_topology_of(pool.tpu.topology, machine):
            yield Finding(
                (*path, "topology"),
                f"a topology of {pool.machine_type}, whose machines have {machine.tpu_chips} chips each: "
                f"{smallest_topology(machine)}{'' if machine.tpu_chips != 4 else ' or a larger one'} "
                "(GKE, Plan TPUs; xpk)",
                "choose one of its TPU version, or another machine type",
            )


def pools_count_nodes_or_slices(settings: Settings) -> Iterator[Finding]:
    """Nodes of a multi-host slice come and go together: max is the slice's size (cluster-toolkit, xpk)."""
    for i, pool in enumerate(settings.pools):
        path: Path = ("muster:pools", i)
        if pool.multi_host and pool.nodes:
            yield Finding(
                (*path, "nodes"),
                f"slices, which come and go whole: this topology takes {pool.slice_nodes} machines "
                "(cluster-toolkit; xpk)",
                "write `slices: {max: …}` in its place",
            )
        elif pool.multi_host and not pool.slices:
            yield Finding((*path, "slices"), "how many slices there may be", "add `slices: {max: …}`")
        elif pool.slices and not pool.multi_host:
            yield Finding(
                (*path, "slices"),
                "nodes: only TPU topologies of several machines make slices (GKE, Plan TPUs)",
                "write `nodes: {max: …}` in its place",
            )
        elif not pool.slices and not pool.nodes:
            yield Finding((*path, "nodes"), "how many nodes there may be", "add `nodes: {max: …}`")


def slices_have_room(settings: Settings) -> Iterator[Finding]:
    """One zone, and a name for each slice's node pool."""
    for i, pool in enumerate(settings.pools):
        if not pool.slices:
            continue
        if not all(POOL_NAME.fullmatch(name) for name in pool.node_pools):
            yield Finding(
                ("muster:pools", i, "name"),
                f"a name short enough for that of its last slice, {pool.node_pools[-1]}: 36 characters "
                "(GKE API: NodePool.name)",
                "choose a shorter one",
            )
        if isinstance(settings.cluster, Gke) and len(zones_of(pool, settings.cluster)) != 1:
            yield Finding(
                ("muster:pools", i, "zones"),
                "one zone: the machines of a slice are wired to each other (cluster-toolkit)",
                "add `zones: [<zone>]` with the zone that has these TPUs",
            )
