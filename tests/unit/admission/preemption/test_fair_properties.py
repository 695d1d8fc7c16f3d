"""Properties of fair sharing in every cluster. A failure prints a decorator that replays it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from muster.admission import (
    Cohort,
    Engine,
    FairSharing,
    FairStrategy,
    Plan,
    PreemptionPolicy,
    PreemptionReason,
    Quota,
    Rules,
    Snapshot,
    Workload,
    decide,
)
from muster.admission.preemption.preemptor import Preemptor
from muster.admission.preemption.search import Target
from muster.admission.quota.share import Share, dominant_share
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import (
    GPU,
    NOW_MS,
    admitted_usage,
    applied,
    cohort,
    fr,
    queue,
    running,
    snapshot,
)
from tests.unit.admission.ledger import Ledger
from tests.unit.admission.strategies import PROPERTY

FINAL, INITIAL = FairStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, FairStrategy.LESS_THAN_INITIAL_SHARE
L4, T4 = fr("l4"), fr("t4")
QUOTA = st.builds(
    Quota,
    st.integers(0, 5),
    st.sampled_from((None, None, 0, 1, 3)),
    st.sampled_from((None, None, None, 0, 2)),
)
WEIGHT = st.sampled_from((Fraction(1), Fraction(1), Fraction(2), Fraction(1, 3), Fraction(0)))
WITHIN = st.sampled_from((PreemptionPolicy.NEVER, PreemptionPolicy.LOWER_PRIORITY))
RECLAIM = st.sampled_from((PreemptionPolicy.ANY, PreemptionPolicy.ANY, PreemptionPolicy.LOWER_PRIORITY))
SHARINGS = st.builds(FairSharing, st.sampled_from(((FINAL, INITIAL), (FINAL,), (INITIAL,))), st.booleans())


@dataclass(frozen=True)
class Crowd:
    """A cluster with all its workloads; those of `held` hold their quota."""

    of: Snapshot
    held: frozenset[str]
    sharing: FairSharing

    def state(self) -> WorkingState:
        workloads = tuple(workload for workload in self.of.workloads if workload.key in self.held)
        return WorkingState(replace(self.of, workloads=workloads))

    def search(self, state: WorkingState, incoming: Workload) -> list[Target]:
        name = incoming.cluster_queue
        preemptor = Preemptor(
            state, incoming, state.queue(name), state.tree.queues[name], Rules(fair_sharing=self.sharing)
        )
        needs = admitted_usage(incoming)
        return preemptor.targets(needs, set(needs))

    def waiting(self) -> list[Workload]:
        return [workload for workload in self.of.workloads if workload.key not in self.held]


@st.composite
def crowds(draw: st.DrawFn, flavors: tuple[str, ...] = ("l4",), cohorts_max: int = 3) -> Crowd:
    """Workloads take quota as long as there is any, so that late ones must preempt."""
    cohorts: list[Cohort] = []
    for index in range(draw(st.integers(1, cohorts_max))):
        parent = draw(st.sampled_from([parent_cohort.name for parent_cohort in cohorts])) if cohorts else None
        cohorts.append(replace(cohort(f"c{index}", parent), weight=draw(WEIGHT)))
    queues = [
        queue(
            f"q{index}",
            {flavor: {GPU: draw(QUOTA)} for flavor in flavors},
            cohort=draw(st.sampled_from(cohorts)).name,
            weight=draw(WEIGHT),
            within_queue=draw(WITHIN),
            reclaim_within_cohort=draw(RECLAIM),
        )
        for index in range(draw(st.integers(2, 4)))
    ]
    workloads = [
        running(
            f"w{index}",
            draw(st.sampled_from(queues)).name,
            draw(st.integers(1, 4)),
            draw(st.sampled_from(flavors)),
            priority=draw(st.integers(0, 2)),
            reserved_at_ms=draw(st.integers(0, 2)),
        )
        for index in range(draw(st.integers(4, 10)))
    ]
    of = snapshot(queues, *workloads, cohorts=cohorts)
    nodes = WorkingState(replace(of, workloads=())).tree.queues
    held = set()
    for parent_cohort in workloads:
        if nodes[parent_cohort.cluster_queue].fits(admitted_usage(parent_cohort)):
            nodes[parent_cohort.cluster_queue].add(admitted_usage(parent_cohort))
            held.add(parent_cohort.key)
    return Crowd(of, frozenset(held), draw(SHARINGS))


def share_of(ledger: Ledger, name: str) -> Share:
    """The share by definition: borrowed over lendable quota, the maximum over resources."""
    parent = ledger.parents[name]
    if parent is None:
        return Share(False, Fraction(0))
    lendable = sum(ledger.potential(parent, fr) for fr in ledger.resources())
    borrowed = sum(max(0, ledger.used(name, fr) - ledger.subtree(name, fr)) for fr in ledger.resources())
    ratio = Fraction(1000 * borrowed, lendable) if lendable else Fraction(0)
    of = ledger.of
    weight = of.cohorts[name].weight if name in of.cohorts else of.cluster_queues[name].weight
    return Share(weight == 0 and ratio > 0, ratio / (weight or 1))


@PROPERTY
@given(crowds(("l4", "t4")))
def test_shares_are_those_of_the_definition(crowd: Crowd) -> None:
    state = crowd.state()
    ledger = Ledger(state.snapshot)
    nodes = {node.name: node for queue in state.tree.queues.values() for node in queue.lineage}
    for name, node in nodes.items():
        assert dominant_share(node).share == share_of(ledger, name)


def usages(state: WorkingState) -> dict[str, dict[Any, int]]:
    nodes = [node for queue in state.tree.queues.values() for node in queue.lineage]
    return {node.name: {fr: amount for fr, amount in node.usage.items() if amount} for node in nodes}


@PROPERTY
@given(crowds())
def test_victims_make_room_and_each_is_needed(crowd: Crowd) -> None:
    state = crowd.state()
    before = usages(state)
    for incoming in crowd.waiting():
        targets = crowd.search(state, incoming)
        assert usages(state) == before
        node, needs = state.tree.queues[incoming.cluster_queue], admitted_usage(incoming)
        with state.without(target.holding for target in targets):
            assert node.fits(needs) == bool(targets)
            for target in targets:
                state.restore(target.holding)
                assert not node.fits(needs)
                state.release(target.holding)


@PROPERTY
@given(crowds(cohorts_max=1))
def test_victims_of_fair_sharing_had_the_larger_share(crowd: Crowd) -> None:
    """The last victim of a queue leaves it a share as large as the preemptor's, or had made it larger.

    Holds only if nothing else changes the preemptor's share: candidates in its queue or cohort may be
    released after the comparison, and Kueue does not compare again."""
    state = crowd.state()
    for incoming in crowd.waiting():
        node, targets = state.tree.queues[incoming.cluster_queue], crowd.search(state, incoming)
        if state.queue(incoming.cluster_queue).within_queue is not PreemptionPolicy.NEVER:
            continue
        fair = [t.holding for t in targets if t.reason is PreemptionReason.IN_COHORT_FAIR_SHARING]
        last = {victim.node: victim for victim in fair}
        with state.without(target.holding for target in targets):
            node.add(admitted_usage(incoming))
            for theirs, victim in last.items():
                ours, final = dominant_share(node).share, dominant_share(theirs).share
                state.restore(victim)
                assert ours <= final or ours < dominant_share(theirs).share
                state.release(victim)
            node.remove(admitted_usage(incoming))


@PROPERTY
@given(crowds(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter_to_fair_preemption(crowd: Crowd, random: Random) -> None:
    def shuffled(named: Mapping[str, Any]) -> dict[str, Any]:
        return dict(random.sample(list(named.items()), len(named)))

    of = crowd.of
    other = replace(
        crowd,
        of=replace(
            of,
            cohorts=shuffled(of.cohorts),
            cluster_queues=shuffled(of.cluster_queues),
            workloads=tuple(random.sample(of.workloads, len(of.workloads))),
        ),
    )
    for incoming in crowd.waiting():
        first, second = (scene.search(scene.state(), incoming) for scene in (crowd, other))
        assert [(t.holding.workload.key, t.reason) for t in first] == [
            (t.holding.workload.key, t.reason) for t in second
        ]


@PROPERTY
@given(crowds())
def test_by_its_rule_no_victim_takes_it_back(crowd: Crowd) -> None:
    crowd = replace(crowd, sharing=replace(crowd.sharing, only_lasting=True))
    for incoming in crowd.waiting():
        targets = crowd.search(crowd.state(), incoming)
        victims = frozenset(target.holding.workload.key for target in targets)
        after = replace(crowd, held=crowd.held - victims | {incoming.key})
        for target in targets:
            back = after.search(after.state(), target.holding.workload)
            assert incoming.key not in {holding.holding.workload.key for holding in back}


@PROPERTY
@given(crowds(("l4", "t4")))
def test_decisions_come_to_rest(crowd: Crowd) -> None:
    """Holds as long as the victims still run. Once they are back, it may start again, as in Kueue: a gang
    takes quota by its share from a gang that took it by priority from a gang that took it by share.

    Each decision is that of a fresh engine, and one is enough if the engine is idle."""
    rules = Rules(fair_sharing=crowd.sharing)
    workloads = (
        workload if workload.key in crowd.held else replace(workload, admission=None)
        for workload in crowd.of.workloads
    )
    now = replace(crowd.of, workloads=tuple(workloads))
    engine = Engine(now, rules)
    for _ in now.workloads:
        plan = engine.decide(NOW_MS)
        assert decided(plan) == decided(decide(now, NOW_MS, rules))
        now = applied(now, plan)
        if engine.settled:
            break
    assert decided(engine.decide(NOW_MS)) == ((), ())
    assert decided(decide(now, NOW_MS, rules)) == ((), ())


def decided(plan: Plan) -> tuple[Any, ...]:
    return plan.admissions, plan.preemptions
