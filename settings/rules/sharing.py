"""Rules of sharing: preemption to borrow, and admission checks.

Keys that only some engines support are refused with the others, because they would have no effect.
"""

from collections.abc import Iterator

from settings.model.stack import Settings
from settings.problems import Finding, Path, did_you_mean
from settings.rules.names import unique


def borrowing_preempts_only_with_reclaim(settings: Settings) -> Iterator[Finding]:
    """`borrowWithinCohort` requires `reclaimWithinCohort` (Kueue, pkg/webhooks/clusterqueue_webhook.go,
    validatePreemption)."""
    for i, queue in enumerate(settings.queues.cluster_queues):
        preemption, path = queue.preemption, ("muster:queues", "clusterQueues", i, "preemption")
        borrows = preemption.borrow_within_cohort
        if borrows and borrows.policy != "Never" and preemption.reclaim_within_cohort == "Never":
            yield Finding(
                (*path, "borrowWithinCohort", "policy"),
                "Never, because reclaimWithinCohort is Never (Kueue)",
                "set `reclaimWithinCohort` to LowerPriority or Any, or remove `borrowWithinCohort`",
            )


def engine_does_what_queues_ask(settings: Settings) -> Iterator[Finding]:
    """Engine kai does not preempt for borrowed quota (KAI-scheduler, docs/queues)."""
    engine = settings.admission.engine
    for i, queue in enumerate(settings.queues.cluster_queues):
        path: Path = ("muster:queues", "clusterQueues", i)
        if engine == "kai" and queue.preemption.borrow_within_cohort:
            yield Finding(
                (*path, "preemption", "borrowWithinCohort"),
                f"no value: engine {engine} does not preempt for borrowed quota",
                "remove it, or choose engine: muster or kueue",
            )


def checks_are_known(settings: Settings) -> Iterator[Finding]:
    """Cluster queues name admission checks of the file, and flavors in which they have quota (Kueue:
    ClusterQueueSpec.admissionChecksStrategy)."""
    known = [check.name for check in settings.queues.checks]
    yield from unique(
        ((("muster:queues", "checks", i, "name"), name) for i, name in enumerate(known)), "check name"
    )
    for i, queue in enumerate(settings.queues.cluster_queues):
        for check, flavors in queue.checks.items():
            path: Path = ("muster:queues", "clusterQueues", i, "checks", check)
            if check not in known:
                yield Finding(path, "the name of a check in muster:queues.checks", did_you_mean(check, known))
            for j, flavor in enumerate(flavors):
                if flavor not in queue.quotas:
                    yield Finding(
                        (*path, j),
                        "a flavor in which this queue has quota (Kueue)",
                        did_you_mean(flavor, queue.quotas),
                    )
