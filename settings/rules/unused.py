"""Warnings about what nothing uses: queues, cohorts, accelerators, checks, and keys of pools."""

from collections.abc import Iterator
from itertools import pairwise

from pydantic.alias_generators import to_camel

from settings.model.foundation.cluster import Gke
from settings.model.queues.admission import WEEK_SECONDS
from settings.model.stack import Settings
from settings.problems import Doubt
from settings.rules.queues import holders
from settings.rules.registry import doubt


@doubt("queues", "tenants")
def queues_may_be_unused(settings: Settings) -> Iterator[Doubt]:
    """Jobs reach a cluster queue through the local queue of a tenant (Kueue: LocalQueueSpec.clusterQueue)."""
    used = {name for tenant in settings.tenants for name in tenant.queues.values()}
    for i, queue in enumerate(settings.queues.cluster_queues):
        if settings.tenants and queue.name not in used:
            yield Doubt(
                ("muster:queues", "clusterQueues", i, "name"),
                "no tenant's `queues` name it, so only local queues made outside the stack can use it; quota "
                "for a whole cohort belongs in the cohort's `quotas`",
                "Kueue: LocalQueueSpec.clusterQueue",
            )


@doubt("queues")
def cohorts_may_be_unused(settings: Settings) -> Iterator[Doubt]:
    """A cohort shares quota between the cluster queues and cohorts under it (Kueue: CohortSpec)."""
    used = {queue.cohort for queue in settings.queues.cluster_queues}
    used |= {cohort.parent for cohort in settings.queues.cohorts}
    for i, cohort in enumerate(settings.queues.cohorts):
        if cohort.name not in used:
            yield Doubt(
                ("muster:queues", "cohorts", i, "name"),
                "no cluster queue or cohort is in it, so it shares nothing",
                "Kueue: CohortSpec",
            )


@doubt("pools", "queues")
def accelerators_may_be_unused(settings: Settings) -> Iterator[Doubt]:
    """GPUs and TPUs are used through a quota of their flavor, and taints keep other pods off their nodes
    (Kueue: ClusterQueueSpec.resourceGroups)."""
    used = {flavor for holder in holders(settings) for flavor in holder.quotas}
    for i, pool in enumerate(settings.pools):
        if pool.accelerators and pool.flavor_name not in used:
            yield Doubt(
                ("muster:pools", i, "flavor" if pool.flavor else "name"),
                f"no queue or cohort has quota of flavor {pool.flavor_name}, so no queued job runs on these "
                f"{pool.nodes_max} nodes; add the flavor to the `quotas` of a queue, or remove the pool",
                "Kueue: resourceGroups",
            )


@doubt("admission", "controller")
def a_controller_may_be_unused(settings: Settings) -> Iterator[Doubt]:
    """Muster's controller, its page and its journal are deployed with engine muster only
    (docs/architecture.md)."""
    engine = settings.admission.engine
    if settings.controller is not None and engine != "muster":
        yield Doubt(
            ("muster:controller",),
            f"engine {engine} admits jobs, so the stack has no controller, page or journal until "
            "muster:admission has engine: muster",
            "docs/architecture.md",
        )


@doubt("controller", "queues")
def a_minimum_run_time_may_be_unused(settings: Settings) -> Iterator[Doubt]:
    """A minimum run time protects gangs that others may preempt (docs/settings.md)."""
    controller = settings.controller
    if controller is None or controller.rules.minimum_run_seconds is None:
        return
    policies = [queue.preemption for queue in settings.queues.cluster_queues]
    if all(p.within_cluster_queue == p.reclaim_within_cohort == "Never" for p in policies):
        yield Doubt(
            ("muster:controller", "rules", "minimumRunSeconds"),
            "no cluster queue has `preemption`, so no gang is preempted at any time",
            "Kueue: ClusterQueuePreemption",
        )


@doubt("admission", "controller")
def aging_may_have_no_effect(settings: Settings) -> Iterator[Doubt]:
    """Aging lifts a workload to the next priority: workloads of one priority are ordered by age without it
    (docs/settings.md)."""
    aging = settings.controller.rules.aging if settings.controller else None
    values = sorted({*settings.admission.priorities.values()})
    gap = min((above - below for below, above in pairwise(values)), default=None)
    if aging is None or (gap is not None and aging.max >= gap):
        return
    yield Doubt(
        ("muster:controller", "rules", "aging", "max"),
        "muster:admission.priorities has fewer than two values, and workloads of one priority are ordered by "
        "age in any case"
        if gap is None
        else f"all priorities are at least {gap} apart, so no older workload of a lower one ever comes first",
        "docs/settings.md",
    )


@doubt("pools", "admission", "controller")
def a_minimum_run_time_may_be_endless(settings: Settings) -> Iterator[Doubt]:
    """A minimum run time is shorter than the life of queued and flex-start nodes: otherwise no gang on them
    is ever preempted (GKE, flex-start: at most a week)."""
    least = settings.controller.rules.minimum_run_seconds if settings.controller else None
    queued = settings.admission.queued_provisioning.max_run_seconds or WEEK_SECONDS
    lives = [
        pool.max_run_seconds or (queued if pool.queued else WEEK_SECONDS if pool.scheduled else 0)
        for pool in settings.pools
        if pool.accelerators
    ]
    if least and lives and all(lives) and least >= max(lives):
        yield Doubt(
            ("muster:controller", "rules", "minimumRunSeconds"),
            f"nodes with accelerators end after {max(lives)} seconds at the latest, so no gang on them is "
            "preempted",
            "GKE, flex-start",
        )


@doubt("pools", "gpu_operator")
def a_gpu_operator_may_be_unused(settings: Settings) -> Iterator[Doubt]:
    """The GPU Operator manages drivers of nodes with GPUs (NVIDIA, "NVIDIA GPU Operator with Google GKE")."""
    if settings.gpu_operator.install == "helm" and not any(pool.gpu for pool in settings.pools):
        yield Doubt(
            ("muster:gpuOperator",),
            "no pool has GPUs, so its pods have nothing to manage",
            "NVIDIA, NVIDIA GPU Operator with Google GKE",
        )


@doubt("project", "cluster")
def host_roles_may_be_unused(settings: Settings) -> Iterator[Doubt]:
    """Roles in a host project are granted for the network of another project (GKE, "Set up clusters with
    Shared VPC")."""
    cluster = settings.cluster
    own = isinstance(cluster, Gke) and cluster.host_project in (None, settings.project)
    if own and "host_roles" in cluster.model_fields_set:
        yield Doubt(
            ("muster:cluster", "hostRoles"),
            "`network` is of the stack's own project, in which GKE has its roles",
            "GKE, Set up clusters with Shared VPC",
        )


@doubt("queues")
def checks_may_be_unused(settings: Settings) -> Iterator[Doubt]:
    """An admission check delays gangs of the cluster queues that name it, and no others (Kueue:
    ClusterQueueSpec.admissionChecksStrategy)."""
    used = {name for queue in settings.queues.cluster_queues for name in queue.checks}
    for i, check in enumerate(settings.queues.checks):
        if check.name not in used:
            yield Doubt(
                ("muster:queues", "checks", i, "name"),
                "no cluster queue's `checks` name it, so it delays no gang",
                "Kueue: ClusterQueueSpec.admissionChecksStrategy",
            )


@doubt("pools", "admission")
def queued_provisioning_may_be_unused(settings: Settings) -> Iterator[Doubt]:
    """Requests are made for nodes of queued pools only (GKE, queued provisioning)."""
    admission = settings.admission
    configured = admission.engine != "kai" and "queued_provisioning" in admission.model_fields_set
    if configured and not any(pool.queued for pool in settings.pools):
        yield Doubt(
            ("muster:admission", "queuedProvisioning"),
            "no pool has `provisioning: queued`, so it has no effect",
            "GKE, queued provisioning",
        )


@doubt("network", "pools")
def ranges_of_gpu_traffic_may_be_unused(settings: Settings) -> Iterator[Doubt]:
    """The range of GPU traffic is that of pools with `gpudirect` (GKE, GPUDirect)."""
    configured = settings.network and "gpu_traffic" in settings.network.model_fields_set
    if configured and not any(pool.gpu_networks for pool in settings.pools):
        yield Doubt(
            ("muster:network", "gpuTraffic"),
            "no pool has `gpudirect: tcpx` or tcpxo, so no network has this range",
            "GKE, Maximize GPU network bandwidth in Standard mode clusters",
        )


# Keys that only a node pool that the stack creates has; other keys describe nodes to quotas.
CREATED_WITH = (
    "upgrade",
    "maintenance_exclusion",
    "secondary_boot_disks",
    "image_streaming",
    "fast_socket",
    "service_account",
    "secure_boot",
    "confidential_nodes",
    "kubelet",
    "resource_manager_tags",
)


@doubt("cluster", "pools")
def keys_of_existing_pools_may_be_unused(settings: Settings) -> Iterator[Doubt]:
    """The stack changes no pool that is already in the cluster: it declares the flavor of its nodes only (GKE
    API: NodePool)."""
    for i, pool in enumerate(settings.pools):
        if pool.existing or settings.place is None:
            for key in CREATED_WITH:
                if key in pool.model_fields_set:
                    yield Doubt(
                        ("muster:pools", i, to_camel(key)),
                        "the pool is in the cluster already, and the stack does not change it: set this "
                        "where the pool is created",
                        "GKE API: NodePool",
                    )
