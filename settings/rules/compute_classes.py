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

OLDEST = GkeVersion.parse("1.33.3-gke.1136000")
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
        "secondaryBootDisks": pool.secondary_boot_disks,
        "gpudirect": pool.gpudirect,
        "dranet": pool.dranet,
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
        if pool.gpu:
            shared = {"partition": pool.gpu.partition, "sharing": pool.gpu.sharing}
            for key in (key for key, is_set in shared.items() if is_set):
                yield Finding((*path, "gpu", key), f"no value: {FIXED}", "remove it, or `computeClass`")


@rule("pools")
def class_nodes_are_created_for_pods(settings: Settings) -> Iterator[Finding]:
    """A ComputeClass has no nodes in advance: GKE creates them when pods need them (GKE, node pool
    auto-creation)."""
    for path, pool in _classes(settings):
        counts = {"min": pool.nodes.min, "initial": pool.nodes.initial} if pool.nodes else {}
        for key in (key for key, count in counts.items() if count):
            yield Finding(
                (*path, "nodes", key),
                "0: GKE creates the nodes of a ComputeClass when pods need them",
                f"remove `{key}`",
            )


@rule("pools")
def priorities_are_of_one_kind(settings: Settings) -> Iterator[Finding]:
    """No priority is queued, and each has nodes with the pool's accelerators that are at least as large: the
    flavor's quotas and pods count on them. Nodes of a reservation are in its zones (compute-class-api:
    Priority)."""
    for path, pool in _classes(settings):
        for j, variant in enumerate(pool.variants):
            here = (*path, "computeClass", "priorities", j)
            if variant.queued:
                yield Finding((*here, "provisioning"), QUEUED, "choose one, or remove `computeClass`")
            if variant.reservation and variant.zones:
                yield Finding(
                    (*here, "zones"),
                    "no zones: the nodes of a reservation are in its zones (GKE, ComputeClass)",
                    "remove it",
                )
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
