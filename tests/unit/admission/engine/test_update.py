"""Changes of objects that are no workloads, on an engine with workloads."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.admission import (
    Budget,
    ClusterQueue,
    Cohort,
    Engine,
    PreemptionPolicy,
    Quota,
    ResourceGroup,
    Rules,
    Snapshot,
    SnapshotError,
    Spent,
    StopPolicy,
    WaitReason,
)
from tests.unit.admission.builders import (
    GPU,
    NOW_MS,
    admitted,
    cohort,
    preempted,
    queue,
    reasons,
    running,
    snapshot,
    workload,
)
from tests.unit.admission.engine.lives import CLUSTERS, OPTIONAL_RULES, RULES
from tests.unit.admission.strategies import PROPERTY

Owner = TypeVar("Owner", ClusterQueue, Cohort)
FACTORS = st.lists(st.sampled_from((0, 1, 1, 2)), min_size=1, max_size=8)


def scaled(of: Snapshot, factors: list[int]) -> Snapshot:
    """Nominal quotas and weights times these, owner by owner."""

    def groups(owner: ClusterQueue | Cohort, by: int) -> tuple[ResourceGroup, ...]:
        return tuple(
            replace(
                group,
                flavors=tuple(
                    replace(
                        flavor,
                        quotas={
                            name: replace(quota, nominal=quota.nominal * by)
                            for name, quota in flavor.quotas.items()
                        },
                    )
                    for flavor in group.flavors
                ),
            )
            for group in owner.groups
        )

    def changed(owner: Owner, position: int) -> Owner:
        by = factors[position % len(factors)]
        return replace(owner, groups=groups(owner, by), weight=owner.weight * by)

    cohorts = {name: changed(owner, n) for n, (name, owner) in enumerate(of.cohorts.items())}
    queues = {name: changed(owner, n) for n, (name, owner) in enumerate(of.cluster_queues.items(), 3)}
    return replace(of, cohorts=cohorts, cluster_queues=queues)


@PROPERTY
@given(CLUSTERS, FACTORS, st.sampled_from(RULES + OPTIONAL_RULES))
def test_quotas_that_change_in_place_decide_as_in_a_fresh_engine(
    of: Snapshot, factors: list[int], rules: Rules
) -> None:
    engine = Engine(of, rules)
    engine.decide(NOW_MS)
    engine.update(scaled(engine.objects, factors))
    fresh = Engine(engine.snapshot, rules)
    for n in (1, 2):
        plan, expected = engine.decide(NOW_MS + n), fresh.decide(NOW_MS + n)
        assert (plan.admissions, plan.preemptions) == (expected.admissions, expected.preemptions)
        assert list(engine.waiting(NOW_MS + n)) == list(fresh.waiting(NOW_MS + n))


def test_more_quota_admits_and_less_quota_preempts() -> None:
    lower = {"within_queue": PreemptionPolicy.LOWER_PRIORITY, "cohort": "ml"}
    engine = Engine(
        snapshot(
            [queue("q", 2, **lower), queue("other", 1, cohort="else")],
            running("r", "q", 2),
            workload("w", "q", 2, queued_at_ms=1),
            workload("waits", "other", 2),
            cohorts=[cohort("ml")],
        )
    )
    engine.decide(NOW_MS)
    assert engine.settled
    engine.update(replace(engine.objects, cluster_queues={"q": queue("q", 4, **lower)} | others(engine)))
    assert admitted(engine.decide(NOW_MS)) == ["w"]
    engine.update(replace(engine.objects, cluster_queues={"q": queue("q", 2, **lower)} | others(engine)))
    engine.put(workload("urgent", "q", 1, priority=1))
    assert sorted(preempted(engine.decide(NOW_MS))) == [("r", "urgent"), ("w", "urgent")]


def others(engine: Engine) -> dict[str, ClusterQueue]:
    return {name: of for name, of in engine.objects.cluster_queues.items() if name != "q"}


def test_objects_that_are_equal_leave_the_engine_settled() -> None:
    engine = Engine(snapshot(queue("q", 1, usage_based=False), running("r"), workload("w", "q", 1)))
    engine.decide(NOW_MS)
    engine.update(snapshot(queue("q", 1)))
    assert engine.settled
    assert [queued.key for queued in engine.snapshot.workloads] == ["ns/r", "ns/w"]


REBUILDS: dict[str, Callable[[Snapshot], Snapshot]] = {
    "a queue is stopped": lambda of: replace(of, cluster_queues={"q": queue("q", 1, stop=StopPolicy.HOLD)}),
    "a queue comes": lambda of: replace(of, cluster_queues=dict(of.cluster_queues, more=queue("more", 1))),
    "a cohort comes": lambda of: replace(of, cohorts={"ml": Cohort("ml")}),
    "a queue has another flavor": lambda of: snapshot(queue("q", {"h100": {GPU: 1}})),
    "a namespace has labels": lambda of: replace(of, namespaces={"ns": {"team": "ml"}}),
}


@pytest.mark.parametrize("change", REBUILDS.values(), ids=REBUILDS.keys())
def test_other_changes_rebuild_the_state_with_the_same_workloads(
    change: Callable[[Snapshot], Snapshot],
) -> None:
    engine = Engine(snapshot(queue("q", 1), running("r"), workload("w", "q", 1)))
    engine.decide(NOW_MS)
    before = engine.snapshot.workloads
    engine.update(change(engine.objects))
    assert not engine.settled
    assert engine.snapshot.workloads == before
    fresh = Engine(engine.snapshot)
    assert engine.decide(NOW_MS) == fresh.decide(NOW_MS)


def test_objects_that_contradict_themselves_change_nothing() -> None:
    engine = Engine(snapshot(queue("q", 1)))
    with pytest.raises(SnapshotError):
        engine.update(replace(engine.objects, cluster_queues={"q": queue("q", Quota(-1))}))
    assert engine.objects.cluster_queues["q"] == queue("q", 1)


def test_recent_usage_of_local_queues_orders_those_that_wait() -> None:
    def used(**units: int) -> dict[str, Fraction]:
        return {f"ns/{name}": Fraction(amount) for name, amount in units.items()}

    engine = Engine(
        replace(
            snapshot(
                queue("q", 1, usage_based=True),
                running("r"),
                *(workload(name, "q", 1, local_queue=f"ns/{name}") for name in ("a", "b")),
            ),
            local_usage=used(a=1, b=2),
        )
    )
    engine.decide(NOW_MS)
    engine.update(replace(engine.objects, local_usage=used(a=3, b=2)))
    assert not engine.settled
    engine.remove("ns/r")
    assert admitted(engine.decide(NOW_MS)) == ["b"]


def test_spent_budget_keeps_workloads_from_starting_until_it_is_withdrawn() -> None:
    budget = Budget(GPU, 10, NOW_MS)
    engine = Engine(snapshot(queue("q", 1, budgets=(budget,))))
    engine.update(replace(engine.objects, spent={"q": (Spent(GPU, NOW_MS, 10),)}))
    engine.put(workload("w", "q", 1))
    assert reasons(engine.decide(NOW_MS)) == {"w": WaitReason.BUDGET}
    engine.update(replace(engine.objects, spent={"q": (Spent(GPU, NOW_MS, 9),)}))
    assert admitted(engine.decide(NOW_MS)) == ["w"]
