"""Victims that one search finds for several heads: the same as each would find."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.admission import BorrowWithinCohort, ClusterQueue, PreemptionPolicy, Quota, Workload
from muster.admission.preemption import shared_targets
from muster.admission.preemption.classical import classical_targets
from muster.admission.preemption.preemptor import Preemptor
from muster.admission.preemption.search import Target, TargetSearch
from muster.admission.preemption.shared_targets import SharedTargets
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import admitted_usage, cohort, queue, running, snapshot
from tests.unit.admission.strategies import PROPERTY, examples

ANY, NEVER = PreemptionPolicy.ANY, PreemptionPolicy.NEVER
Change = Callable[[ClusterQueue], ClusterQueue]


def targets(state: WorkingState, incoming: Workload, shared: SharedTargets | None) -> list[Target]:
    name, needs = incoming.cluster_queue, admitted_usage(incoming)
    preemptor = Preemptor(state, incoming, state.queue(name), state.tree.queues[name], shared=shared)
    return preemptor.targets(needs, set(needs))


LIMIT = st.sampled_from((None, None, None, None, 0, 1))
QUOTA = st.builds(Quota, st.sampled_from((2, 3, 1, 4)), LIMIT, LIMIT)
WITHIN = st.sampled_from((PreemptionPolicy.LOWER_PRIORITY, PreemptionPolicy.LOWER_PRIORITY, NEVER))
RECLAIM = st.sampled_from((ANY, PreemptionPolicy.LOWER_PRIORITY))
TERMS = st.sampled_from((None, None, None, BorrowWithinCohort(None)))
COHORT = st.sampled_from(("ml", "ml", "ml", "lab"))
FEW = st.integers(0, 2)
SELDOM = st.sampled_from((False, False, False, True))
RUNNING = st.tuples(st.integers(0, 4), st.integers(1, 2), FEW, FEW, SELDOM, SELDOM)


@st.composite
def full_states(draw: st.DrawFn) -> WorkingState:
    """Two cohorts under one, with workloads in five queues as long as they fit, some of them leaving."""
    queues = [
        queue(
            f"q{number}",
            draw(QUOTA),
            cohort=draw(COHORT),
            within_queue=draw(WITHIN),
            reclaim_within_cohort=draw(RECLAIM),
            borrow_within_cohort=draw(TERMS),
        )
        for number in range(5)
    ]
    cohorts = [cohort("all"), cohort("ml", "all"), cohort("lab", "all")]
    state = WorkingState(snapshot(queues, cohorts=cohorts))
    for number, (of, gpus, priority, at_ms, leaves, over_budget) in enumerate(
        draw(st.lists(RUNNING, min_size=8, max_size=16))
    ):
        runs = running(f"w{number}", f"q{of}", gpus, priority=priority, reserved_at_ms=at_ms)
        assert runs.admission is not None
        if state.tree.queues[f"q{of}"].fits(admitted_usage(runs)):
            state.add_reserved(runs, runs.admission)
            holdings = state.holdings[f"q{of}"]
            holdings.set_over_budget(holdings[runs.key], over_budget)
            if leaves:
                holdings.evict(holdings[runs.key])
    return state


HEADS = [
    (of, gpus, priority, over_budget)
    for of in range(5)
    for gpus, priority, over_budget in ((1, 1, False), (2, 1, False), (1, 2, False), (1, 2, True))
]


@settings(PROPERTY, max_examples=examples(1500))
@given(full_states(), st.permutations(HEADS))
def test_each_search_of_a_state_finds_what_it_would_find_alone(
    state: WorkingState, heads: list[tuple[int, int, int, bool]]
) -> None:
    shared = SharedTargets()
    for of, gpus, priority, over_budget in heads:
        head = running("head", f"q{of}", gpus, priority=priority, over_budget=over_budget)
        assert targets(state, head, shared) == targets(state, head, None), (of, gpus)


def mine(name: str, **fields: object) -> ClusterQueue:
    policies = {"within_queue": PreemptionPolicy.LOWER_PRIORITY, "reclaim_within_cohort": ANY, **fields}
    return queue(name, policies.pop("quota", 2), cohort="ml", **policies)  # type: ignore[arg-type]  # as they come


SECOND: dict[str, tuple[ClusterQueue, int, int]] = {
    "wants as much": (mine("b"), 1, 1),
    "wants as much, with a borrowing limit": (mine("b", quota=Quota(2, borrowing_limit=0)), 1, 1),
    "wants more": (mine("b"), 2, 2),
    "does not reclaim": (mine("b", reclaim_within_cohort=NEVER), 1, 2),
    "reclaims lower priorities": (mine("b", reclaim_within_cohort=PreemptionPolicy.LOWER_PRIORITY), 1, 2),
    "may preempt while it borrows": (
        mine("b", borrow_within_cohort=BorrowWithinCohort(priority_threshold_max=None)),
        1,
        2,
    ),
    "keeps quota from the cohort": (mine("b", quota=Quota(2, lending_limit=0)), 1, 2),
    "would borrow": (mine("b", quota=0), 1, 2),
}


@pytest.mark.parametrize("name", SECOND)
def test_heads_of_queues_that_want_the_same_search_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    second, gpus, searches = SECOND[name]
    done: list[TargetSearch] = []

    def counted(search: TargetSearch) -> list[Target]:
        done.append(search)
        return classical_targets(search)

    monkeypatch.setattr(shared_targets, "classical_targets", counted)
    queues = [mine("a"), second, queue("borrows", 2, cohort="ml")]
    held = [running(f"r{number}", "borrows", 1) for number in range(6)]
    state, shared = WorkingState(snapshot(queues, *held)), SharedTargets()
    state.bounds_preemption = False
    first, other = (running(f"h{of}", of, n) for of, n in (("a", 1), ("b", gpus)))
    assert targets(state, first, shared)
    assert targets(state, other, shared) == targets(state, other, None)
    assert len(done) == searches


def test_a_workload_that_leaves_the_own_queue_anyway_goes_first() -> None:
    queues = [mine("a"), mine("b"), queue("borrows", 2, cohort="ml")]
    held = [running(f"r{number}", "borrows", 1) for number in range(5)]
    leaving = running("leaving", "b", 1, priority=-1)
    state, shared = WorkingState(snapshot(queues, *held, leaving)), SharedTargets()
    state.holdings["b"].evict(state.holdings["b"][leaving.key])
    targets_by_queue = {of: targets(state, running(f"h{of}", of, 1), shared) for of in ("a", "b")}
    assert [target.holding.node.name for target in targets_by_queue["a"]] == ["borrows"]
    assert [target.holding.workload.key for target in targets_by_queue["b"]] == [leaving.key]
