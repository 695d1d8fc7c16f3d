"""Warnings about queues and cohorts that nothing uses."""

from collections.abc import Iterator

from settings.model.stack import Settings
from settings.problems import Doubt
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
