"""Rules of TPUs: topologies of each machine type, and node pools of slices."""

from collections.abc import Iterator

from settings.model.foundation.cluster import Gke
from settings.model.foundation.place import zones_of
from settings.model.pools.tpus import is_topology_of, smallest_topology
from settings.model.stack import Settings
from settings.model.versions import GkeVersion
from settings.problems import Finding, Path
from settings.rules.registry import rule

SLICE_CONTROLLER = GkeVersion.parse("1.35.2-gke.1842000")


@rule("pools")
def topologies_suit_machines(settings: Settings) -> Iterator[Finding]:
    """A pool of TPUs has a topology that GKE offers for its machine type (GKE, "Plan TPUs in GKE"; xpk)."""
    for i, pool in enumerate(settings.pools):
        machine, path = pool.machine, ("muster:pools", i, "tpu")
        if pool.tpu and not machine.tpu_chips:
            yield Finding(
                path,
                f"no TPU: {pool.machine_type} has none",
                "remove `tpu`, or choose a ct5lp, ct5p, ct6e or tpu7x machine",
            )
        elif machine.tpu_chips and not pool.tpu:
            smallest = smallest_topology(machine)
            yield Finding(
                path,
                f"the topology of the slices of {pool.machine_type} (GKE, Plan TPUs)",
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


@rule("pools")
def pools_count_nodes_or_slices(settings: Settings) -> Iterator[Finding]:
    """Pools of multi-host slices have `slices`, all others `nodes`: GKE creates and deletes all nodes of a
    slice together (cluster-toolkit, xpk)."""
    for i, pool in enumerate(settings.pools):
        path: Path = ("muster:pools", i)
        if pool.multi_host and pool.nodes:
            yield Finding(
                (*path, "nodes"),
                f"slices instead: each slice of this topology takes {pool.slice_nodes} machines "
                "(cluster-toolkit; xpk)",
                "write `slices: {max: …}` instead",
            )
        elif pool.multi_host and not pool.slices:
            yield Finding((*path, "slices"), "the maximum number of slices", "add `slices: {max: …}`")
        elif pool.slices and not pool.multi_host:
            yield Finding(
                (*path, "slices"),
                "nodes instead: only TPU topologies of several machines have slices (GKE, Plan TPUs)",
                "write `nodes: {max: …}` instead",
            )
        elif not pool.slices and not pool.nodes:
            yield Finding((*path, "nodes"), "the maximum number of nodes", "add `nodes: {max: …}`")


@rule("cluster", "pools")
def slices_are_in_one_zone(settings: Settings) -> Iterator[Finding]:
    """A slice is in one zone (cluster-toolkit)."""
    for i, pool in enumerate(settings.pools):
        if pool.slices and settings.place and len(zones_of(pool, settings.place)) != 1:
            yield Finding(
                ("muster:pools", i, "zones"),
                "a single zone: the machines of a slice are connected to each other (cluster-toolkit)",
                "add `zones: [<zone>]` with the zone that has these TPUs",
            )


@rule("cluster")
def slices_are_formed_by_new_versions(settings: Settings) -> Iterator[Finding]:
    """The controller of dynamic TPU slices runs in channel rapid, from 1.35.2-gke.1842000 on (GKE, "Configure
    TPUs with dynamic slicing", November 2026)."""
    cluster = settings.cluster
    if not isinstance(cluster, Gke) or not cluster.slice_controller:
        return
    if cluster.channel != "rapid":
        yield Finding(
            ("muster:cluster", "channel"),
            "rapid, the only channel with the slice controller (GKE, dynamic slicing)",
            "write rapid, or remove `sliceController`",
        )
    if GkeVersion.parse(cluster.version) < SLICE_CONTROLLER:
        yield Finding(
            ("muster:cluster", "version"),
            f"{SLICE_CONTROLLER} or later, for the slice controller (GKE, dynamic slicing)",
            "raise it, or remove `sliceController`",
        )
