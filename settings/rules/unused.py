"""Warnings about queues, cohorts and accelerators that nothing uses."""

from collections.abc import Iterator

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
