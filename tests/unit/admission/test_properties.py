"""What holds for every cluster. A failure prints a decorator that replays it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from muster.admission import (
    FlavorResource,
    Plan,
    PreemptionReason,
    Quota,
    ResourceGroup,
    Snapshot,
    Workload,
    decide,
)
from muster.admission.flavors.assigner import total_requests
from muster.admission.flavors.nodes import mismatch
from muster.admission.preemption.classical import satisfies
from tests.unit.admission.builders import NOW_MS, applied, withdrawn
from tests.unit.admission.strategies import PROPERTY, snapshots

Named = TypeVar("Named")
ROUNDS_MAX = 200


def life(of: Snapshot, arrivals: int) -> Iterator[tuple[Snapshot, Plan]]:
    """Snapshots with their plans: workloads arrive one by one, victims leave, until nothing moves.

    The last `arrivals` come after the others have settled; victims leave one round after they
    were told to.
    """
    now = replace(of, workloads=of.workloads[: max(0, len(of.workloads) - arrivals)])
    coming = list(of.workloads[len(now.workloads) :])
    for round_ in range(ROUNDS_MAX):
        plan = decide(now, NOW_MS + 1)
        yield now, plan
        after = applied(withdrawn(now), plan, NOW_MS + round_)
        if after == now and not coming:
            return
        if after == now:
            after = replace(now, workloads=(*now.workloads, coming.pop(0)))
        now = after
    raise AssertionError(f"nothing settled after {ROUNDS_MAX} rounds")


LIVES = st.builds(
    lambda of, arrivals: list(life(of, arrivals)), snapshots(), st.sampled_from((6, 8, 4, 2, 0))
)


class Ledger:
    """A naive recomputation of Kueue's quota rules: every number from scratch, top down."""

    def __init__(self, of: Snapshot) -> None:
        self.of = of
        self.parents = {name: cohort.parent for name, cohort in of.cohorts.items()}
        self.parents |= {name: queue.cohort for name, queue in of.cluster_queues.items()}

    def children(self, name: str) -> list[str]:
        return [child for child, parent in self.parents.items() if parent == name]

    def quota(self, name: str, fr: FlavorResource) -> Quota:
        cohort = self.of.cohorts.get(name)
        groups = cohort.groups if cohort else self.of.cluster_queues[name].groups
        return _quotas(groups).get(fr, Quota(0))

    def subtree(self, name: str, fr: FlavorResource) -> int:
        lent = (self.subtree(child, fr) - self.kept(child, fr) for child in self.children(name))
        return self.quota(name, fr).nominal + sum(lent)

    def kept(self, name: str, fr: FlavorResource) -> int:
        lending = self.quota(name, fr).lending_limit
        return 0 if lending is None else max(0, self.subtree(name, fr) - lending)

    def used(self, name: str, fr: FlavorResource) -> int:
        own = sum(
            pod_set.usage[fr.resource]
            for one in self.of.workloads
            if one.admission is not None and one.admission.cluster_queue == name
            for pod_set in one.admission.pod_sets
            if pod_set.flavors.get(fr.resource) == fr.flavor
        )
        beyond = (max(0, self.used(child, fr) - self.kept(child, fr)) for child in self.children(name))
        return own + sum(beyond)

    def overrun(self) -> list[tuple[str, FlavorResource]]:
        """Where more is used than the quota and what may be borrowed for it."""
        groups = [cohort.groups for cohort in self.of.cohorts.values()]
        groups += [queue.groups for queue in self.of.cluster_queues.values()]
        resources = {fr for some in groups for fr in _quotas(some)}
        return [(name, fr) for name in self.parents for fr in resources if self._over(name, fr)]

    def _over(self, name: str, fr: FlavorResource) -> bool:
        limit = self.quota(name, fr).borrowing_limit if self.parents[name] else 0
        return limit is not None and self.used(name, fr) > self.subtree(name, fr) + limit


def _quotas(groups: tuple[ResourceGroup, ...]) -> dict[FlavorResource, Quota]:
    return {
        FlavorResource(flavors.flavor, resource): quota
        for group in groups
        for flavors in group.flavors
        for resource, quota in flavors.quotas.items()
    }


def _by_key(of: Snapshot) -> Mapping[str, Workload]:
    return {one.key: one for one in of.workloads}


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
            assert [one.name for one in decision.admission.pod_sets] == [one.name for one in gang.pod_sets]
            for wanted, assigned in zip(gang.pod_sets, decision.admission.pod_sets, strict=True):
                assert assigned.count == wanted.count
                assert assigned.usage == total_requests(wanted, queue)
                assert assigned.flavors.keys() == assigned.usage.keys()
                assert not any(mismatch(wanted, now.flavors[name]) for name in assigned.flavors.values())


@PROPERTY
@given(LIVES)
def test_every_pending_workload_is_admitted_or_told_why_not(lives: list[tuple[Snapshot, Plan]]) -> None:
    for now, plan in lives:
        answered = [one.workload for one in plan.admissions] + [one.workload for one in plan.waiting]
        assert sorted(answered) == sorted(one.key for one in now.workloads if one.admission is None)
        assert all(one.message for one in plan.waiting)


@PROPERTY
@given(LIVES)
def test_it_settles(lives: list[tuple[Snapshot, Plan]]) -> None:
    """`life` itself fails if evicting, withdrawing and deciding again goes on for ever."""
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
            assert own == (preemption.reason is PreemptionReason.IN_CLUSTER_QUEUE)
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
