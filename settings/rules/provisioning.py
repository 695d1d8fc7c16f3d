"""Rules of provisioning: on-demand, spot, reserved, flex-start and queued."""

from collections.abc import Iterator

from settings.facts.tables import table
from settings.model.foundation.cluster import Gke
from settings.model.pools.pool import Pool
from settings.model.pools.values import Provisioning
from settings.model.queues.admission import WEEK_SECONDS
from settings.model.stack import Settings
from settings.model.versions import GkeVersion
from settings.problems import Doubt, Finding, Path
from settings.rules.registry import doubt, rule

# Dynamic Workload Scheduler: nodes for a limited time, when capacity is available (GKE, "About flex-start").
OLDEST = GkeVersion.parse("1.32.2-gke.1652000")
OLDEST_FOR_TPUS = GkeVersion.parse("1.33.0-gke.1712000")

NO_RESERVATION = {
    "queued": "the API refuses queued pools with one, with status 400 (terraform-provider-google#18341)",
    "flex-start": "flex-start nodes cannot use one (cluster-toolkit, gke-node-pool; xpk)",
    "spot": "spot nodes cannot use one (cluster-toolkit, gke-node-pool)",
    "on-demand": "only `provisioning: reserved` uses one by name",
}
EMPTY_AT_FIRST = {
    "queued": "0: only ProvisioningRequests add nodes to a queued pool (GKE, queued provisioning)",
    "flex-start": "0: flex-start pools have no static nodes (cluster-toolkit, gke-node-pool; xpk)",
}
WAYS: tuple[Provisioning, ...] = ("on-demand", "spot", "reserved", "flex-start", "queued")


def ways_to_get_nodes(settings: Settings) -> Iterator[tuple[Path, Pool]]:
    """Yields each pool with its path; one with a ComputeClass once for each priority."""
    for i, pool in enumerate(settings.pools):
        path: Path = ("muster:pools", i)
        for j, variant in enumerate(pool.variants):
            yield (*path, "computeClass", "priorities", j) if pool.compute_class else path, variant


@rule("pools")
def reservations_suit_provisioning(settings: Settings) -> Iterator[Finding]:
    """A reservation is named only with `provisioning: reserved` (GKE API: ReservationAffinity;
    cluster-toolkit; xpk; terraform-provider-google#18341)."""
    for place, pool in ways_to_get_nodes(settings):
        path = (*place, "reservation")
        if pool.reservation and pool.provisioning != "reserved":
            yield Finding(
                path,
                f"no reservation: {NO_RESERVATION[pool.provisioning]}",
                "remove `reservation`, or write provisioning: reserved",
            )
        elif pool.provisioning == "reserved" and not pool.reservation:
            yield Finding(
                path,
                "the reservation to take nodes from (GKE, SPECIFIC_RESERVATION)",
                "add `reservation: <name>`, or write provisioning: on-demand, which uses open ones",
            )


@rule("pools")
def scheduled_pools_start_empty(settings: Settings) -> Iterator[Finding]:
    """Queued and flex-start pools scale up from 0 (GKE, "GPUs for batch workloads with queued provisioning";
    xpk)."""
    for i, pool in enumerate(settings.pools):
        if pool.provisioning not in EMPTY_AT_FIRST or not pool.nodes:
            continue
        for key, value in (("min", pool.nodes.min), ("initial", pool.nodes.initial or 0)):
            if value:
                yield Finding(
                    ("muster:pools", i, "nodes", key),
                    EMPTY_AT_FIRST[pool.provisioning],
                    f"write 0, or remove `{key}`",
                )


@rule("pools")
def only_queued_pools_choose_flex_start(settings: Settings) -> Iterator[Finding]:
    """`flexStart` is given for queued pools only, which are flex-start VMs or not (GKE, flex-start)."""
    for i, pool in enumerate(settings.pools):
        if pool.flex_start is not None and not pool.queued:
            yield Finding(
                ("muster:pools", i, "flexStart"),
                f"no value: it applies to queued pools, and this pool is {pool.provisioning}",
                "remove it, or write provisioning: queued or flex-start",
            )


@rule("pools")
def scheduled_pools_have_accelerators(settings: Settings) -> Iterator[Finding]:
    """Queued pools have accelerators, flex-start pools have them or h4d machines (GKE, flex-start; GKE,
    queued provisioning)."""
    for place, pool in ways_to_get_nodes(settings):
        path = (*place, "provisioning")
        if pool.machine.gpu_count or pool.machine.tpu_chips or pool.gpu:
            continue
        if pool.queued:
            yield Finding(
                path,
                "on-demand or spot: GKE rejects ProvisioningRequests for pods without accelerators",
                "choose on-demand, or a machine type with GPUs",
            )
        elif pool.provisioning == "flex-start" and not pool.machine_type.startswith("h4d-"):
            yield Finding(
                path,
                "on-demand or spot: flex-start requires GPUs, TPUs or an h4d machine (GKE, flex-start)",
                "choose on-demand, or such a machine type",
            )


@rule("pools")
def machines_are_sold_that_way(settings: Settings) -> Iterator[Finding]:
    """Machines are provisioned in a way in which they are offered: the newest GPUs are not sold on demand,
    a4x machines only by reservation (Compute Engine, "Accelerator-optimized machine family";
    settings/facts/provisioning.toml)."""
    for path, pool in ways_to_get_nodes(settings):
        if not pool.machine.offered(pool.provisioning):
            *ways, last = [way for way in WAYS if pool.machine.offered(way)]
            yield Finding(
                (*path, "provisioning"),
                f"{', '.join(ways)}{' or ' if ways else ''}{last}: on {table('provisioning').date} "
                f"{pool.machine_type} was offered in no other way (Compute Engine, consumption options)",
                "choose one of them, or another machine type; muster:machineTypes can correct this fact",
            )


@rule("pools")
def scheduled_nodes_live_a_week(settings: Settings) -> Iterator[Finding]:
    """Queued and flex-start nodes run for up to 7 days (GKE, flex-start)."""
    for path, pool in ways_to_get_nodes(settings):
        if pool.scheduled and (pool.max_run_seconds or 0) > WEEK_SECONDS:
            yield Finding(
                (*path, "maxRunSeconds"),
                f"at most {WEEK_SECONDS}: {pool.provisioning} nodes run for up to 7 days (GKE, flex-start)",
                "lower it",
            )


@rule("pools")
def scheduled_pools_are_upgraded_by_gke(settings: Settings) -> Iterator[Finding]:
    """Queued and flex-start pools have no `upgrade`: GKE upgrades them when their nodes end (GKE, node pool
    upgrade strategies: short-lived)."""
    for i, pool in enumerate(settings.pools):
        if pool.scheduled and pool.upgrade:
            yield Finding(
                ("muster:pools", i, "upgrade"),
                f"no value: GKE upgrades {pool.provisioning} pools when their nodes end (GKE, node pool "
                "upgrade strategies: short-lived)",
                "remove `upgrade`",
            )


@rule("cluster", "pools")
def cluster_is_new_enough(settings: Settings) -> Iterator[Finding]:
    """Queued and flex-start pools require 1.32.2-gke.1652000, flex-start TPUs 1.33.0-gke.1712000 (GKE,
    flex-start)."""
    if not isinstance(settings.cluster, Gke):
        return
    version = GkeVersion.parse(settings.cluster.version)
    for _, pool in ways_to_get_nodes(settings):
        oldest = OLDEST_FOR_TPUS if pool.tpu else OLDEST
        if pool.flex_start_vms and version < oldest:
            other = "write flexStart: false" if pool.queued else "choose other provisioning"
            yield Finding(
                ("muster:cluster", "version"),
                f"{oldest} or later, for flex-start {'TPUs' if pool.tpu else 'VMs'} in pool {pool.name} "
                "(GKE, flex-start)",
                f"raise it, or {other} for the pool",
            )


@doubt("pools")
def tpus_may_not_be_queued(settings: Settings) -> Iterator[Doubt]:
    """GKE may refuse TPUs with queued provisioning (xpk#900, contradicted by cluster-toolkit#5218)."""
    for i, pool in enumerate(settings.pools):
        if pool.queued and pool.tpu:
            yield Doubt(
                ("muster:pools", i, "provisioning"),
                "GKE may refuse TPUs with queued provisioning (status 400), although cluster-toolkit "
                "supports them for v6e and TPU7x; if GKE refuses the pool, write flex-start",
                "xpk#900, contradicted by cluster-toolkit#5218",
            )
