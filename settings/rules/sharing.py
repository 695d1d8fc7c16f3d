"""Rules of sharing: preemption to borrow, and admission checks.

Keys that only some engines support are refused with the others, because they would have no effect.
"""

from collections.abc import Iterator

from settings.model.stack import Settings
from settings.problems import Doubt, Finding, Path
from settings.rules.engines import engine_section
from settings.rules.registry import doubt, rule


@rule("queues")
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


@rule("queues")
def queues_reclaim_in_a_cohort(settings: Settings) -> Iterator[Finding]:
    """`reclaimWithinCohort` reclaims what other queues of the cohort have borrowed (Kueue:
    ClusterQueuePreemption)."""
    for i, queue in enumerate(settings.queues.cluster_queues):
        if queue.cohort is None and queue.preemption.reclaim_within_cohort != "Never":
            yield Finding(
                ("muster:queues", "clusterQueues", i, "preemption", "reclaimWithinCohort"),
                "Never: the queue is in no cohort, so no other queue borrows its quota",
                "remove it, or add `cohort`",
            )


@rule("queues")
def thresholds_need_a_policy(settings: Settings) -> Iterator[Finding]:
    """`maxPriorityThreshold` bounds preemption to borrow, which policy Never turns off (Kueue:
    BorrowWithinCohort)."""
    for i, queue in enumerate(settings.queues.cluster_queues):
        borrows = queue.preemption.borrow_within_cohort
        if borrows and borrows.policy == "Never" and borrows.max_priority_threshold is not None:
            yield Finding(
                ("muster:queues", "clusterQueues", i, "preemption", "borrowWithinCohort", "policy"),
                "LowerPriority: with Never, `maxPriorityThreshold` has no effect",
                "write policy: LowerPriority, or remove `borrowWithinCohort`",
            )


@doubt("admission", "queues")
def thresholds_may_have_no_effect(settings: Settings) -> Iterator[Doubt]:
    """A gang that borrows preempts others up to `maxPriorityThreshold` (Kueue: BorrowWithinCohort)."""
    priorities = settings.admission.priorities.values()
    for i, queue in enumerate(settings.queues.cluster_queues):
        borrows = queue.preemption.borrow_within_cohort
        threshold = borrows.max_priority_threshold if borrows and borrows.policy != "Never" else None
        if threshold is not None and priorities and threshold < min(0, *priorities):
            yield Doubt(
                (
                    *("muster:queues", "clusterQueues", i, "preemption"),
                    *("borrowWithinCohort", "maxPriorityThreshold"),
                ),
                f"every job has a higher priority, at least {min(0, *priorities)}, so nothing is preempted "
                "this way",
                "Kueue: BorrowWithinCohort",
            )


@rule("kueue", "admission", "controller", "queues")
def borrowing_preempts_without_fair_sharing(settings: Settings) -> Iterator[Finding]:
    """`borrowWithinCohort` has no effect with fair sharing, which preempts by shares (Kueue, "Preemption":
    borrowWithinCohort)."""
    _, section = engine_section(settings) or ("", None)
    if section is None or section.fair_sharing is None:
        return
    for i, queue in enumerate(settings.queues.cluster_queues):
        borrows = queue.preemption.borrow_within_cohort
        if borrows and borrows.policy != "Never":
            yield Finding(
                ("muster:queues", "clusterQueues", i, "preemption", "borrowWithinCohort"),
                "no value: with `fairSharing`, shares decide what a gang that borrows may preempt",
                "remove it, or `fairSharing`",
            )


@rule("admission", "queues")
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


@rule("kueue", "admission", "queues", "tenants")
def usage_is_shared_by_kueue(settings: Settings) -> Iterator[Finding]:
    """Order by the usage of LocalQueues is Kueue's, and configured for it: Muster and KAI keep no history of
    usage (Kueue: apis/config/v1beta2, AdmissionFairSharing).

    The configuration of a Kueue that is already installed is unknown.
    """
    engine, kueue, shared = settings.admission.engine, settings.kueue, set()
    for i, queue in enumerate(settings.queues.cluster_queues):
        path: Path = ("muster:queues", "clusterQueues", i, "admissionFairSharing")
        if not queue.admission_fair_sharing:
            continue
        shared.add(queue.name)
        if engine != "kueue":
            yield Finding(
                path,
                f"false: engine {engine} keeps no history of what LocalQueues used, and orders by priority "
                "and time alone (docs/conformance.md)",
                "remove it, give each team a cluster queue with a `weight`, or choose engine: kueue",
            )
        elif kueue.install == "upstream" and kueue.admission_fair_sharing is None:
            yield Finding(
                path,
                "false: it has no effect without `admissionFairSharing` in `muster:kueue` (Kueue)",
                "remove it, or add `muster:kueue: {admissionFairSharing: {usageHalfLifeSeconds: 86400}}`",
            )
    for i, tenant in enumerate(settings.tenants):
        if tenant.weight is not None and not shared & set(tenant.queues.values()):
            yield Finding(
                ("muster:tenants", i, "weight"),
                "no weight: none of its cluster queues has `admissionFairSharing`",
                "remove it, or add `admissionFairSharing: true` to its cluster queue",
            )


@doubt("kueue", "queues")
def usage_may_be_shared_by_no_queue(settings: Settings) -> Iterator[Doubt]:
    """Kueue orders by the usage of LocalQueues in cluster queues with `admissionFairSharing` only (Kueue:
    ClusterQueueSpec.admissionScope)."""
    queues = settings.queues.cluster_queues
    if settings.kueue.admission_fair_sharing and not any(queue.admission_fair_sharing for queue in queues):
        yield Doubt(
            ("muster:kueue", "admissionFairSharing"),
            "no cluster queue has `admissionFairSharing: true`, so it has no effect",
            "Kueue: ClusterQueueSpec.admissionScope",
        )


@doubt("admission", "queues")
def thresholds_may_bound_nothing(settings: Settings) -> Iterator[Doubt]:
    """A `maxPriorityThreshold` is among the priorities: below all of them nothing is preempted to borrow, and
    from the highest one on it bounds nothing (Kueue: BorrowWithinCohort.maxPriorityThreshold). Gangs without
    a class have priority 0."""
    values = {0, *settings.admission.priorities.values()}
    for i, queue in enumerate(settings.queues.cluster_queues):
        borrows = queue.preemption.borrow_within_cohort
        threshold = borrows.max_priority_threshold if borrows else None
        if threshold is None or min(values) <= threshold < max(values):
            continue
        effect = "no gang may be preempted" if threshold < min(values) else "it bounds nothing"
        yield Doubt(
            ("muster:queues", "clusterQueues", i, "preemption", "borrowWithinCohort", "maxPriorityThreshold"),
            f"priorities are from {min(values)} to {max(values)}: with this threshold, {effect}",
            "Kueue: BorrowWithinCohort.maxPriorityThreshold",
        )


@rule("kueue", "admission", "controller", "queues")
def roots_have_no_weight(settings: Settings) -> Iterator[Finding]:
    """A weight scales a share among the members of a cohort: a cohort without `parent` and a queue without
    `cohort` have none (Kueue: FairSharing.weight). With engine kai they share the cluster."""
    _, section = engine_section(settings) or ("", None)
    if section is None or section.fair_sharing is None:
        return
    roots = {
        "cohorts": [cohort.weight if cohort.parent is None else None for cohort in settings.queues.cohorts],
        "clusterQueues": [q.weight if q.cohort is None else None for q in settings.queues.cluster_queues],
    }
    for key, above in (("cohorts", "parent"), ("clusterQueues", "cohort")):
        for i, weight in enumerate(roots[key]):
            if weight is not None:
                yield Finding(
                    ("muster:queues", key, i, "weight"),
                    f"no weight: without `{above}` it shares nothing with others (Kueue)",
                    f"remove it, or add `{above}`",
                )
