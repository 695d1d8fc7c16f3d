"""Soft budgets: workloads of a queue that has used one up rank below all others of their cohort."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from muster.admission import (
    BorrowWithinCohort,
    Budget,
    ClusterQueue,
    Enforcement,
    Engine,
    FairSharing,
    PreemptionPolicy,
    QueueingStrategy,
    Rules,
    Snapshot,
    Spent,
    Workload,
    decide,
)
from tests.unit.admission.builders import (
    GPU,
    Quotas,
    admitted,
    cohort,
    messages,
    pods,
    preempted,
    queue,
    running,
    snapshot,
    workload,
)

HOUR = 3_600_000
DAY = 24 * HOUR
START = 10 * DAY
NOW = START + 6 * HOUR
TEN = (Budget(GPU, 10 * HOUR, DAY, enforcement=Enforcement.SOFT),)
LOWER, ANY, NEVER = PreemptionPolicy.LOWER_PRIORITY, PreemptionPolicy.ANY, PreemptionPolicy.NEVER
FAIR = Rules(fair_sharing=FairSharing())
USED_UP = f"has used up its 10 {GPU} hours of this 1 d"


def over(name: str, quota: int | Quotas, **fields: Any) -> ClusterQueue:
    """A queue of cohort ml with a soft budget, of which `cluster` records the usage."""
    defaults: dict[str, Any] = {"cohort": "ml", "budgets": TEN, "reclaim_within_cohort": LOWER}
    return queue(name, quota, **(defaults | fields))


def within(name: str, quota: int | Quotas, **fields: Any) -> ClusterQueue:
    return over(name, quota, **({"budgets": ()} | fields))


def cluster(queues: list[ClusterQueue], *workloads: Workload, spent: int = 10) -> Snapshot:
    """All queues used as many hours of the day."""
    of = snapshot(queues, *workloads, cohorts=[cohort("ml")])
    return replace(of, spent={each.name: (Spent(GPU, START, spent * HOUR, "l4"),) for each in queues})


def holds(name: str, in_queue: str, gpu: int, flavor: str = "l4", **fields: Any) -> Workload:
    """A workload that holds quota since now, and so has used nothing."""
    return running(name, in_queue, gpu, flavor, **({"reserved_at_ms": NOW} | fields))


@dataclass(frozen=True)
class Case:
    of: Snapshot
    admits: list[str] = field(default_factory=list)
    preempts: list[tuple[str, str]] = field(default_factory=list)
    rules: Rules = field(default_factory=Rules)


A_AND_B = [over("a", 4), within("b", 4)]
ORDER: dict[str, Case] = {
    "last of a cycle, whatever the priority": Case(
        cluster(A_AND_B, workload("a", "a", 6, priority=9), workload("b", "b", 6)), ["b"]
    ),
    "not before the budget is used up": Case(
        cluster(A_AND_B, workload("a", "a", 6, priority=9), workload("b", "b", 6), spent=9), ["a"]
    ),
    "even if only the others borrow": Case(
        cluster([over("a", 4), within("b", 0)], workload("a", "a", 4, priority=9), workload("b", "b", 4)),
        ["b"],
    ),
    "even if priorities do not order heads": Case(
        cluster(A_AND_B, workload("a", "a", 6), workload("b", "b", 6, queued_at_ms=1)),
        ["b"],
        rules=Rules(priority_sorting_within_cohort=False),
    ),
    "with fair sharing, too": Case(
        cluster([over("a", 6), within("b", 2)], workload("a", "a", 6), workload("b", "b", 6)),
        ["b"],
        rules=FAIR,
    ),
    "free quota is theirs": Case(cluster(A_AND_B, workload("a", "a", 8)), ["a"]),
    "behind workloads of their queue that do not use the resource": Case(
        cluster(
            [over("a", {"l4": {GPU: 4, "cpu": 4}})],
            workload("gpu", "a", pods(requests={GPU: 1, "cpu": 4}), priority=9),
            workload("cpu", "a", pods(requests={"cpu": 4})),
        ),
        ["cpu"],
    ),
    "by priority among themselves": Case(
        cluster([over("a", 4), over("b", 4)], workload("a", "a", 6), workload("b", "b", 6, priority=1)), ["b"]
    ),
    "a strict queue within its budget is not affected": Case(
        cluster(
            [over("a", 4, strategy=QueueingStrategy.STRICT_FIFO), within("b", 4)],
            workload("a", "a", 8, priority=9),
            workload("b", "b", 1),
        ),
        ["b"],
    ),
    "with backfill": Case(
        cluster(
            A_AND_B,
            holds("r", "b", 8, run_time_ms=8 * HOUR, reserved_at_ms=NOW - HOUR),
            workload("a", "a", 8, priority=9, run_time_ms=HOUR),
            workload("b", "b", 8, run_time_ms=HOUR),
        ),
        rules=Rules(backfill=True),
    ),
}

PREEMPTION: dict[str, Case] = {
    "a borrower over budget leaves for any priority": Case(
        cluster(A_AND_B, holds("a", "a", 6, priority=9), workload("b", "b", 4)), preempts=[("a", "b")]
    ),
    "one within its budget does not": Case(
        cluster(A_AND_B, holds("a", "a", 6, priority=9), workload("b", "b", 4), spent=9)
    ),
    "before borrowers of a lower priority": Case(
        cluster(
            [*A_AND_B, within("c", 0)],
            holds("a", "a", 6, priority=9),
            holds("c", "c", 2, priority=-1),
            workload("b", "b", 2, priority=1),
        ),
        preempts=[("a", "b")],
    ),
    "what it runs within its nominal quota stays": Case(
        cluster(A_AND_B, holds("a", "a", 4), workload("b", "b", 6, priority=9))
    ),
    "policy Never protects it": Case(
        cluster(
            [over("a", 4), within("b", 4, reclaim_within_cohort=NEVER)],
            holds("a", "a", 6),
            workload("b", "b", 4, priority=9),
        )
    ),
    "it does not preempt with policy Any": Case(
        cluster(
            [over("a", 4, reclaim_within_cohort=ANY), within("b", 4)],
            holds("b", "b", 6),
            workload("a", "a", 4, priority=9),
        )
    ),
    "it preempts others over budget": Case(
        cluster([over("a", 4), over("b", 4)], holds("b", "b", 6), workload("a", "a", 4, priority=9)),
        preempts=[("b", "a")],
    ),
    "but none of a higher priority": Case(
        cluster([over("a", 4), over("b", 4)], holds("b", "b", 6, priority=9), workload("a", "a", 4))
    ),
    "within a queue by priority": Case(
        cluster([over("a", 4, within_queue=LOWER)], holds("r", "a", 4), workload("w", "a", 4, priority=1)),
        preempts=[("r", "w")],
    ),
    "below any threshold for preemption while borrowing": Case(
        cluster(
            [over("a", 4), within("b", 2, borrow_within_cohort=BorrowWithinCohort(-9))],
            holds("a", "a", 6, priority=9),
            workload("b", "b", 4),
        ),
        preempts=[("a", "b")],
    ),
    "with fair sharing a smaller share does not protect it": Case(
        cluster(
            [over("a", 1), within("b", 1), within("c", 6)],
            holds("a", "a", 2, priority=9),
            holds("c", "c", 6),
            workload("b", "b", 2),
        ),
        preempts=[("a", "b")],
        rules=FAIR,
    ),
    "with fair sharing it leaves before larger shares": Case(
        cluster(
            [over("a", 1), within("b", 4), within("c", 0)],
            holds("a", "a", 2),
            holds("c", "c", 3),
            workload("b", "b", 2),
        ),
        preempts=[("a", "b")],
        rules=FAIR,
    ),
    "with fair sharing it preempts no larger share": Case(
        cluster(
            [over("a", 4, reclaim_within_cohort=ANY), within("b", 0)],
            holds("b", "b", 4),
            workload("a", "a", 4, priority=9),
        ),
        rules=FAIR,
    ),
}


@pytest.mark.parametrize("case", (ORDER | PREEMPTION).values(), ids=ORDER | PREEMPTION)
def test_workloads_over_budget_rank_below_all_others(case: Case) -> None:
    plan = decide(case.of, NOW, case.rules)
    assert (admitted(plan), preempted(plan)) == (case.admits, case.preempts)


def test_a_budget_of_a_cohort_applies_to_all_its_queues() -> None:
    of = snapshot(
        [queue("a", 2, cohort="ml"), queue("b", 2, cohort="ml"), queue("c", 2, cohort="org")],
        workload("a", "a", 4, priority=9),
        workload("b", "b", 4, priority=8),
        workload("c", "c", 4),
        cohorts=[replace(cohort("ml", "org"), budgets=TEN), cohort("org")],
    )
    of = replace(of, spent={"b": (Spent(GPU, START, 10 * HOUR),)})
    assert admitted(decide(of, NOW)) == ["c"]
    assert admitted(decide(replace(of, workloads=of.workloads[:2]), NOW)) == ["a"]


FLAVORS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "of the flavor": ("l4", [("a", "b")]),
    "of another flavor": ("t4", []),
}


@pytest.mark.parametrize(("flavor", "preempts"), FLAVORS.values(), ids=FLAVORS)
def test_a_budget_of_a_flavor_applies_to_its_usage(flavor: str, preempts: list[tuple[str, str]]) -> None:
    both = {"l4": {GPU: 4}, "t4": {GPU: 4}}
    of = cluster(
        [over("a", both, budgets=(replace(TEN[0], flavor="l4"),)), within("b", both)],
        holds("a", "a", 6, flavor, priority=9),
        workload("b", "b", 4),
        holds("other", "b", 8, "t4" if flavor == "l4" else "l4", priority=9),
    )
    assert preempted(decide(of, NOW)) == preempts


def test_a_gang_that_is_admitted_in_another_flavor_is_within_its_budget() -> None:
    quotas = {"l4": {GPU: 0}, "t4": {GPU: 4}}
    queues = [over("a", quotas, budgets=(replace(TEN[0], flavor="l4"),)), within("b", quotas)]
    engine = Engine(cluster(queues, workload("a", "a", 6)))
    assert admitted(engine.decide(NOW)) == ["a"]
    engine.put(workload("b", "b", 4, priority=-1))
    assert preempted(engine.decide(NOW + 1)) == []


def test_it_is_preempted_at_the_moment_when_the_budget_is_used_up() -> None:
    engine = Engine(cluster(A_AND_B, holds("a", "a", 6, priority=9), workload("b", "b", 4), spent=4))
    assert preempted(engine.decide(NOW)) == []
    assert engine.next_ms == NOW + HOUR
    assert preempted(engine.decide(NOW + HOUR - 1)) == []
    (preemption,) = engine.decide(NOW + HOUR).preemptions
    assert (preemption.workload, preemption.budget) == ("ns/a", f"ClusterQueue a {USED_UP}")


def test_it_has_its_priority_again_in_the_next_period() -> None:
    waiting = workload("a", "a", 4, priority=9), holds("b", "b", 6, priority=1)
    engine = Engine(cluster(A_AND_B, *waiting))
    plan = engine.decide(NOW)
    assert (admitted(plan), preempted(plan)) == ([], [])
    assert messages(plan)["a"].endswith(f", and takes only free quota as ClusterQueue a {USED_UP}")
    assert {wait.until_ms for wait in plan.waiting} == {engine.next_ms} == {START + DAY}
    assert preempted(engine.decide(START + DAY)) == [("b", "a")]


def test_it_has_its_priority_again_when_its_usage_is_corrected() -> None:
    of = cluster(A_AND_B, workload("a", "a", 4, priority=9), holds("b", "b", 6, priority=1))
    engine = Engine(of)
    assert preempted(engine.decide(NOW)) == []
    engine.update(replace(of, spent={}))
    assert preempted(engine.decide(NOW)) == [("b", "a")]


@pytest.mark.parametrize(("spent", "preempts"), [(9, True), (10, False)])
def test_growth_over_budget_is_not_offered_what_others_hold(spent: int, preempts: bool) -> None:
    engine = Engine(cluster(A_AND_B, holds("b", "b", 6), spent=spent))
    engine.decide(NOW)
    assert engine.preempts(workload("a", "a", 4, priority=9), NOW) is preempts


def test_queue_order_follows_the_budget() -> None:
    waits = (
        workload("gpu", "a", pods(requests={GPU: 1, "cpu": 1}), priority=9),
        workload("cpu", "a", pods(requests={"cpu": 1})),
    )
    of = cluster([over("a", {"l4": {GPU: 0, "cpu": 0}})], *waits)
    assert Engine(of).queue_order("a", NOW) == ["ns/cpu", "ns/gpu"]
    assert Engine(replace(of, spent={})).queue_order("a", NOW) == ["ns/gpu", "ns/cpu"]
