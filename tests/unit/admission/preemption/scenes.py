"""Random scenes of preemption: a full cluster, and a workload that wants something of it."""

from dataclasses import dataclass, replace
from random import Random

from hypothesis import strategies as st

from muster.admission import (
    Admission,
    BorrowWithinCohort,
    ClusterQueue,
    Cohort,
    FlavorResource,
    PodSetAssignment,
    PreemptionPolicy,
    Quota,
    Snapshot,
    Workload,
)
from muster.admission.preemption.search import TargetSearch
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import GPU, Quotas, cohort, fr, queue, snapshot, workload

WANTED = (fr("l4"), fr("l4", "cpu"))


@dataclass(frozen=True)
class Scene:
    of: Snapshot
    needs: dict[FlavorResource, int]
    contested: frozenset[FlavorResource]
    over_budget: bool = False  # of the preemptor

    def search(self) -> TargetSearch:
        """A search for a workload of queue q0, with a separate state."""
        state = WorkingState(self.of)
        for holdings in state.holdings.values():
            for holding in tuple(holdings.values()):
                holdings.set_over_budget(holding, holding.workload.over_budget)
        incoming = workload("in", "q0", 1, priority=3, queued_at_ms=2, over_budget=self.over_budget)
        return TargetSearch(
            state, incoming, state.queue("q0"), state.tree.queues["q0"], self.needs, self.contested
        )

    def shuffled(self, random: Random) -> "Scene":
        queues = dict(random.sample(list(self.of.cluster_queues.items()), len(self.of.cluster_queues)))
        cohorts = dict(random.sample(list(self.of.cohorts.items()), len(self.of.cohorts)))
        workloads = tuple(random.sample(self.of.workloads, len(self.of.workloads)))
        return replace(self, of=replace(self.of, cluster_queues=queues, cohorts=cohorts, workloads=workloads))


_LIMIT = st.sampled_from((None, None, None, None, 0, 1, 2, 4))
_QUOTA = st.builds(Quota, st.sampled_from((2, 4, 3, 6, 0)), _LIMIT, _LIMIT)
_OVER_BUDGET = st.sampled_from((False, False, False, True))
_COHORTS = ("c0", "c1", "c2")
_POLICY = st.sampled_from((*PreemptionPolicy, PreemptionPolicy.ANY, PreemptionPolicy.LOWER_PRIORITY))


@st.composite
def _quotas(draw: st.DrawFn) -> Quotas:
    return {"l4": {GPU: draw(_QUOTA), "cpu": draw(_QUOTA)}}


@st.composite
def _cohorts(draw: st.DrawFn) -> list[Cohort]:
    """A forest: a parent comes earlier in the list than its children."""
    return [
        cohort(
            name,
            draw(st.sampled_from((*_COHORTS[:index], *_COHORTS[:index], None))),
            *draw(st.lists(_quotas(), max_size=1)),
        )
        for index, name in enumerate(_COHORTS)
    ]


@st.composite
def _queue(draw: st.DrawFn, name: str) -> ClusterQueue:
    return queue(
        name,
        draw(_quotas()),
        cohort=draw(st.sampled_from((*_COHORTS, *_COHORTS, None))),
        within_queue=draw(_POLICY),
        reclaim_within_cohort=draw(_POLICY),
        borrow_within_cohort=draw(st.sampled_from((None, None, BorrowWithinCohort(), BorrowWithinCohort(1)))),
    )


@st.composite
def _holder(draw: st.DrawFn, name: str, queues: int) -> Workload:
    in_queue = f"q{draw(st.sampled_from((*range(1, queues), *range(queues), *range(1, queues))))}"
    usage = {GPU: draw(st.sampled_from((1, 2, 3, 0))), "cpu": draw(st.sampled_from((0, 1, 2)))}
    assigned = PodSetAssignment("workers", 1, dict.fromkeys(usage, "l4"), usage)
    return workload(
        name,
        in_queue,
        1,
        uid=draw(st.sampled_from(("u", name))),
        priority=draw(st.integers(0, 4)),
        queued_at_ms=draw(st.integers(0, 4)),
        admission=Admission(in_queue, (assigned,)),
        reserved_at_ms=draw(st.integers(0, 2)),
        evicted=draw(st.sampled_from((False, False, False, True))),
        over_budget=draw(_OVER_BUDGET),
    )


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """More may be used than the quotas allow: one was lowered."""
    queues = [draw(_queue(f"q{index}")) for index in range(draw(st.sampled_from((3, 4, 2, 1))))]
    holders = [draw(_holder(f"w{index}", len(queues))) for index in range(draw(st.integers(4, 10)))]
    needs = {WANTED[0]: draw(st.sampled_from((2, 3, 1, 5))), WANTED[1]: draw(st.sampled_from((1, 2, 3)))}
    contested = draw(st.sampled_from((WANTED[:1], WANTED, WANTED[1:])))
    of = snapshot(queues, *holders, cohorts=draw(_cohorts()))
    return Scene(of, needs, frozenset(contested), draw(_OVER_BUDGET))


_LOWER = st.sampled_from((PreemptionPolicy.LOWER_PRIORITY, PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY))
_RARELY = st.sampled_from((None, None, None, None, None, 1, 3))


@st.composite
def _mate(draw: st.DrawFn, name: str) -> ClusterQueue:
    quotas = {of: draw(st.builds(Quota, st.sampled_from((4, 6, 5)), _RARELY, _RARELY)) for of in (GPU, "cpu")}
    return queue(
        name,
        {"l4": quotas},
        cohort=draw(st.sampled_from(("c0", "c0", "c1"))),
        within_queue=draw(_LOWER),
        reclaim_within_cohort=draw(st.sampled_from((PreemptionPolicy.ANY, PreemptionPolicy.LOWER_PRIORITY))),
    )


@st.composite
def full_cohorts(draw: st.DrawFn) -> Scene:
    """Most of the quota of two cohorts is in use, and q0 would need to stop borrowing: as in Kueue's own
    performance tests, where most heads of a high priority find that."""
    queues = [draw(_mate(f"q{index}")) for index in range(4)]
    holders = [draw(_holder(f"w{index}", len(queues))) for index in range(draw(st.integers(8, 16)))]
    needs = {WANTED[0]: draw(st.sampled_from((4, 3, 5)))}
    if draw(st.booleans()):
        needs[WANTED[1]] = draw(st.sampled_from((1, 3)))
    cohorts = [cohort("c0"), cohort("c1", draw(st.sampled_from(("c0", None))))]
    of = snapshot(queues, *holders, cohorts=cohorts)
    return Scene(of, needs, frozenset(needs), draw(_OVER_BUDGET))
