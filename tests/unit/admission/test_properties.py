"""Properties of every cluster. A failure prints a decorator that replays it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from muster.admission import (
    Plan,
    PreemptionPolicy,
    PreemptionReason,
    Rules,
    Snapshot,
    Workload,
    decide,
)
from muster.admission.flavors.demand import PODS, requests_of
from muster.admission.nodes import mismatch
from muster.admission.preemption.ordering import satisfies
from tests.unit.admission.builders import NOW_MS, applied, pods, queue, snapshot, withdrawn, workload
from tests.unit.admission.ledger import Ledger
from tests.unit.admission.strategies import PROPERTY, snapshots

Named = TypeVar("Named")
ROUNDS_MAX = 200


def life(of: Snapshot, arrivals: int, rules: Rules = Rules()) -> Iterator[tuple[Snapshot, Plan]]:  # noqa: B008
    """Snapshots with their plans: workloads arrive one by one, victims leave, until nothing moves.

    The last `arrivals` come after the others have settled; victims leave one round after they
    were told to. Raises AssertionError if something still moves after ROUNDS_MAX rounds, unless only
    partial admission keeps it going: under Kueue's rules a gang may reclaim quota for fewer pods, take
    more of them once the quota is free, and be reclaimed in turn (docs/conformance.md).
    """
    now = replace(of, workloads=of.workloads[: max(0, len(of.workloads) - arrivals)])
    coming = list(of.workloads[len(now.workloads) :])
    for round_ in range(ROUNDS_MAX):
        plan = decide(now, NOW_MS + 1, rules)
        yield now, plan
        after = applied(withdrawn(now), plan, NOW_MS + round_)
        if after == now and not coming:
            return
        if after == now:
            after = replace(now, workloads=(*now.workloads, coming.pop(0)))
        now = after
    whole = replace(rules, partial_admission=False)
    assert rules != whole, f"nothing settled after {ROUNDS_MAX} rounds"
    for _ in life(of, arrivals, whole):
        pass


LIVES = st.builds(
    lambda of, arrivals: list(life(of, arrivals)), snapshots(), st.sampled_from((6, 8, 4, 2, 0))
)


def test_gangs_that_shrink_may_reclaim_from_each_other_in_turns() -> None:
    """Each wants 3 of 4 GPUs and owns 2 of them: it reclaims for 2, then takes 3, one of them borrowed."""
    policies = {
        "reclaim_within_cohort": PreemptionPolicy.ANY,
        "within_queue": PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY,
    }
    queues = [queue(name, 2, cohort="c", **policies) for name in ("first", "second")]
    gangs = [
        workload(name, name, pods(count=3, count_min=1, gpu=1), queued_at_ms=at_ms)
        for at_ms, name in enumerate(("first", "second"))
    ]
    of = snapshot(queues, *gangs)
    assert len(list(life(of, 1))) == ROUNDS_MAX
    assert len(list(life(of, 1, Rules(partial_admission=False)))) < 10


def _by_key(of: Snapshot) -> Mapping[str, Workload]:
    return {workload.key: workload for workload in of.workloads}


@PROPERTY
@given(LIVES)
def test_never_more_than_the_quota_at_any_level(lives: list[tuple[Snapshot, Plan]]) -> None:
    for now, plan in lives:
        assert Ledger(applied(now, plan)).overrun() == []


@PROPERTY
@given(LIVES)
def test_all_or_nothing(lives: list[tuple[Snapshot, Plan]]) -> None:
    for now, plan in lives:
        workloads = _by_key(now)
        for decision in plan.admissions:
            gang = workloads[decision.workload]
            queue = now.cluster_queues[gang.cluster_queue]
            assert decision.admission.cluster_queue == queue.name
            assert [pod_set.name for pod_set in decision.admission.pod_sets] == [
                pod_set.name for pod_set in gang.pod_sets
            ]
            for expected, assigned in zip(gang.pod_sets, decision.admission.pod_sets, strict=True):
                enough = expected.count if expected.count_min is None else expected.count_min
                assert enough <= assigned.count <= expected.count
                asked = requests_of(expected, assigned.count) | {PODS: assigned.count}
                assert assigned.usage == {
                    name: asked[name] for name in {*expected.requests, *assigned.flavors}
                }
                assert assigned.flavors.keys() == assigned.usage.keys()
                assert not any(mismatch(expected, now.flavors[name]) for name in assigned.flavors.values())


@PROPERTY
@given(LIVES)
def test_every_pending_workload_is_admitted_or_told_why_not(lives: list[tuple[Snapshot, Plan]]) -> None:
    for now, plan in lives:
        answered = [planned.workload for planned in plan.admissions] + [
            planned.workload for planned in plan.waiting
        ]
        assert sorted(answered) == sorted(
            planned.key for planned in now.workloads if planned.admission is None
        )
        assert all(planned.message for planned in plan.waiting)


@PROPERTY
@given(LIVES)
def test_every_cluster_settles(lives: list[tuple[Snapshot, Plan]]) -> None:
    """`life` itself fails if evicting, withdrawing and deciding again continues forever."""
    now, plan = lives[-1]
    assert (plan.admissions, plan.preemptions, plan.drained) == ((), (), ())
    assert decide(now, NOW_MS + 1) == plan


@PROPERTY
@given(LIVES)
def test_victims_are_those_that_policy_allows(lives: list[tuple[Snapshot, Plan]]) -> None:
    for now, plan in lives:
        workloads = _by_key(now)
        victims = [preemption.workload for preemption in plan.preemptions]
        assert len(set(victims)) == len(victims)
        for preemption in plan.preemptions:
            victim, preemptor = workloads[preemption.workload], workloads[preemption.preemptor]
            assert victim.admission is not None
            assert not victim.evicted
            assert preemptor.admission is None
            queue = now.cluster_queues[preemptor.cluster_queue]
            own = victim.admission.cluster_queue == queue.name
            if victim.surplus_of in victims:  # evicted with its gang
                continue
            assert own == (preemption.reason is PreemptionReason.IN_CLUSTER_QUEUE)
            assert victim.surplus_of or not preemptor.surplus_of
            if own and victim.surplus_of and queue.within_queue is PreemptionPolicy.NEVER:
                assert victim.priority_rank < preemptor.priority_rank
                continue
            assert satisfies(queue.within_queue if own else queue.reclaim_within_cohort, preemptor, victim)


@PROPERTY
@given(LIVES, st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(lives: list[tuple[Snapshot, Plan]], random: Random) -> None:
    for now, plan in lives[-3:]:
        other = Snapshot(
            _shuffled(now.flavors, random),
            _shuffled(now.cohorts, random),
            _shuffled(now.cluster_queues, random),
            tuple(random.sample(now.workloads, len(now.workloads))),
        )
        assert decide(other, NOW_MS + 1) == plan


def _shuffled(named: Mapping[str, Named], random: Random) -> dict[str, Named]:
    return dict(random.sample(list(named.items()), len(named)))
