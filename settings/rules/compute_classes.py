"""Rules of ComputeClasses: nodes that GKE can create itself, and nodes that need a node pool.

Source, unless stated otherwise: GKE, "About custom ComputeClasses", and its API (compute-class-api, v1).
"""

from collections.abc import Iterator, Mapping

from settings.model.foundation.cluster import Gke
from settings.model.pools.pool import Pool
from settings.model.stack import Settings
from settings.model.versions import GkeVersion
from settings.problems import Finding, Path
from settings.rules.registry import rule

FLEX_START_SECONDS = 7 * 24 * 3600  # the longest run time (GKE, flex-start)
OLDEST = GkeVersion.parse("1.33.3-gke.1136000")
# GKE, "About built-in ComputeClasses", October 2026.
BUILT_IN = ("autopilot", "autopilot-spot")
QUEUED = (
    "other provisioning: a ComputeClass has no queued nodes, which belong to one node pool and are created "
    "for one ProvisioningRequest, without a fallback (compute-class-api: Priority)"
)
FIXED = "this needs a node pool (compute-class-api: Priority, NodePoolConfig)"


def _of_priorities(pool: Pool) -> Mapping[str, object]:
    """Returns the pool's keys that its ComputeClass has in each priority instead."""
    return {
        "provisioning": pool.provisioning != "on-demand",
        "reservation": pool.reservation,
        "zones": pool.zones,
        "maxRunSeconds": pool.max_run_seconds,
    }


def _of_node_pools(pool: Pool) -> Mapping[str, object]:
    """Returns the pool's keys that a ComputeClass does not have, and whether they are given."""
    return {
        "existing": pool.existing,
        "flexStart": pool.flex_start is not None,
        "slices": pool.slices,
        "placement": pool.placement,
        "upgrade": pool.upgrade,
        "gpudirect": pool.gpu_networks,
        "fastSocket": pool.fast_socket,
    }


@rule("pools")
def classes_have_what_gke_can_create(settings: Settings) -> Iterator[Finding]:
    """A pool with a ComputeClass gives provisioning, reservations, zones and times for each priority, and has
    no keys that only node pools have (compute-class-api: Priority, NodePoolConfig)."""
    for path, pool in _classes(settings):
        for key in (key for key, is_set in _of_priorities(pool).items() if is_set):
            yield Finding(
                (*path, key),
                QUEUED if pool.queued and key == "provisioning" else "no value: each priority has its own",
                "remove `computeClass`" if pool.queued else "move it to `computeClass.priorities`",
            )
        for key in (key for key, is_set in _of_node_pools(pool).items() if is_set):
            yield Finding((*path, key), f"no value: {FIXED}", "remove it, or `computeClass`")


@rule("pools")
def class_nodes_are_created_for_pods(settings: Settings) -> Iterator[Finding]:
    """The nodes that a ComputeClass has in advance are its `nodes.min` (compute-class-api:
    MinimumCapacity)."""
    for path, pool in _classes(settings):
        if pool.nodes and pool.nodes.initial:
            yield Finding(
                (*path, "nodes", "initial"),
                "no value: GKE creates the nodes of a ComputeClass when pods need them, and `min` in advance",
                "remove `initial`, or write `min`",
            )


@rule("pools")
def keys_of_priorities_suit_their_nodes(settings: Settings) -> Iterator[Finding]:
    """Reservations that need not be named are for on-demand nodes, node recycling for flex-start, and a time
    for which GKE tries a priority for flex-start and TPUs (compute-class-api: Priority, FlexStart)."""
    for path, pool in _classes(settings):
        assert pool.compute_class, "_classes yields pools with one"
        for j, way in enumerate(pool.compute_class.priorities):
            flex, here = way.provisioning == "flex-start", (*path, "computeClass", "priorities", j)
            if way.any_reservation and way.provisioning != "on-demand":
                yield Finding(
                    (*here, "anyReservation"),
                    "no value: only on-demand nodes are taken from reservations that are not named",
                    "remove it, or write provisioning: on-demand",
                )
            if way.recycle_lead_seconds and not flex:
                yield Finding(
                    (*here, "recycleLeadSeconds"),
                    "no value: only flex-start nodes are recycled (compute-class-api: FlexStart)",
                    "remove it, or write provisioning: flex-start",
                )
            if way.capacity_check_wait_seconds and not flex and not pool.tpu:
                yield Finding(
                    (*here, "capacityCheckWaitSeconds"),
                    "no value: GKE waits only for flex-start nodes and TPUs (compute-class-api: Priority)",
                    "remove it, or write provisioning: flex-start",
                )
            run_seconds = way.max_run_seconds or FLEX_START_SECONDS
            if flex and way.recycle_lead_seconds and way.recycle_lead_seconds >= run_seconds:
                yield Finding(
                    (*here, "recycleLeadSeconds"),
                    f"less than {run_seconds}, the run time of the nodes (compute-class-api: FlexStart)",
                    "lower it",
                )


@rule("pools")
def priorities_are_of_one_kind(settings: Settings) -> Iterator[Finding]:
    """No priority is queued, and each has nodes with the pool's accelerators that are at least as large: the
    flavor's quotas and pods count on them (compute-class-api: Priority)."""
    for path, pool in _classes(settings):
        for j, variant in enumerate(pool.variants):
            here = (*path, "computeClass", "priorities", j)
            if variant.queued:
                yield Finding((*here, "provisioning"), QUEUED, "choose one, or remove `computeClass`")
            if why := _unlike(pool, variant):
                yield Finding(
                    (*here, "machineType"),
                    f"a machine type with {why} of {pool.machine_type}, which the flavor's quotas count on",
                    "choose one, or give these nodes a pool and a flavor of their own",
                )


def _unlike(pool: Pool, variant: Pool) -> str | None:
    """Returns what a priority's machine lacks of the pool's, if anything."""
    machine, has = pool.machine, variant.machine
    if (machine.gpu_type, machine.gpu_count) != (has.gpu_type, has.gpu_count):
        return "the GPUs"
    if (machine.tpu_type, machine.tpu_chips) != (has.tpu_type, has.tpu_chips):
        return "the TPU chips"
    if has.vcpus < machine.vcpus or has.memory_gib < machine.memory_gib:
        return "at least the vCPUs and the memory"
    counts = (None, has.local_ssds, *has.attachable_ssds)
    if has.local_ssds != machine.local_ssds or pool.local_ssds not in counts:
        return "the local SSDs"
    disk = pool.boot_disk.type
    return "the boot disk's type" if disk and has.boot_disks and disk not in has.boot_disks else None


@rule("pools")
def classes_have_names_of_their_own(settings: Settings) -> Iterator[Finding]:
    """A ComputeClass has another name than those that GKE installs, which it restores (GKE, "About built-in
    ComputeClasses")."""
    for path, pool in _classes(settings):
        if pool.name in BUILT_IN:
            yield Finding(
                (*path, "name"),
                f"another name than {' and '.join(BUILT_IN)}, the ComputeClasses of GKE",
                "rename it; `flavor` may stay",
            )


@rule("cluster", "pools", "admission")
def classes_are_of_gke(settings: Settings) -> Iterator[Finding]:
    """ComputeClasses are GKE's, which creates their node pools from 1.33.3-gke.1136000 on without node
    auto-provisioning (GKE, node pool auto-creation); engine kai has no flavors, which select their nodes."""
    cluster = settings.cluster
    for path, pool in _classes(settings):
        if settings.place is None:
            yield Finding(
                (*path, "computeClass"),
                "no value: it needs GKE, and this cluster is not known to be there",
                "remove it, or say in muster:cluster.gke where the cluster is",
            )
        elif settings.admission.engine == "kai":
            yield Finding(
                (*path, "computeClass"),
                "no value: pods select the class by their flavor, and engine kai has no flavors",
                "remove it, or choose engine: muster (or kueue)",
            )
        elif (
            isinstance(cluster, Gke)
            and not cluster.node_auto_provisioning
            and GkeVersion.parse(cluster.version) < OLDEST
        ):
            yield Finding(
                ("muster:cluster", "version"),
                f"{OLDEST} or later, for the ComputeClass of pool {pool.name} without node auto-provisioning "
                "(GKE, node pool auto-creation)",
                "raise it, or add `nodeAutoProvisioning`",
            )


def _classes(settings: Settings) -> Iterator[tuple[Path, Pool]]:
    for i, pool in enumerate(settings.pools):
        if pool.compute_class:
            yield ("muster:pools", i), pool
