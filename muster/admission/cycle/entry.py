"""A head in a cycle: its assignment, its outcome, and its place among the others."""

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import NamedTuple, Protocol

from muster.admission.cycle.assignment_cache import AssignmentCache
from muster.admission.flavors.assignment import Assignment
from muster.admission.flavors.attempts import ScanProgress
from muster.admission.model import Admission, ClusterQueue, Rules, Workload
from muster.admission.preemption.search import Target
from muster.admission.queueing.groups import QueueOrder
from muster.admission.queueing.requeue import RequeueReason
from muster.admission.quota.tree import QuotaNode, Usage
from muster.admission.state.holdings import Holding
from muster.admission.wait_note import Ruling, WaitNote


class Outcome(Enum):
    """The outcome of a head (Kueue: entryStatus, with the reason why it is requeued)."""

    UNTRIED = auto()
    ADMITTED = auto()
    PREEMPTING = auto()  # its targets are to be evicted
    DEFERRED = auto()  # it fits as soon as the targets of other heads are gone
    OVERLAPPING = auto()  # another head claimed a target of its own first
    CROWDED_OUT = auto()  # it does not fit beside what the cycle gave to others
    HELD = auto()  # by an optional rule: its note says which
    GATED = auto()  # it needs preemption, and a gate forbids it as yet
    NO_CANDIDATES = auto()  # it fits by preemption only, and no workload may be preempted
    NO_FIT = auto()
    WRONG_NAMESPACE = auto()  # the queue does not take workloads from there
    NOT_REPLACED = auto()  # a node of it failed, and no other can take its pods: it has to go
    CHECK_FAILED = auto()  # one that it passed before is to be retried, or rejected it
    REFUSED = auto()  # what its pods ask for is not allowed


REQUEUE = {
    Outcome.PREEMPTING: RequeueReason.PENDING_PREEMPTION,
    Outcome.DEFERRED: RequeueReason.PENDING_PREEMPTION,
    Outcome.OVERLAPPING: RequeueReason.AFTER_NOMINATION,
    Outcome.CROWDED_OUT: RequeueReason.AFTER_NOMINATION,
    Outcome.HELD: RequeueReason.NO_FIT,
    Outcome.GATED: RequeueReason.PREEMPTION_GATED,
    Outcome.NO_CANDIDATES: RequeueReason.NO_CANDIDATES,
    Outcome.NO_FIT: RequeueReason.NO_FIT,
    Outcome.WRONG_NAMESPACE: RequeueReason.NAMESPACE_MISMATCH,
    Outcome.CHECK_FAILED: RequeueReason.GENERIC,
    Outcome.REFUSED: RequeueReason.GENERIC,
}
"""Why a head is requeued; an admitted one is not."""


class FlavorScan(NamedTuple):
    """How far the search for flavors came, and when: `generation` is the state's for the queue."""

    progress: ScanProgress
    cycle: int
    generation: int


_UNASSIGNED = Assignment()  # never changed


@dataclass(slots=True, eq=False)
class Entry:
    """A head of an active queue. The caller gives the first fields, a cycle fills in the others.

    `preempting` says that it went back to its queue as PENDING_PREEMPTION; `scan` is what the cycle
    before left there, and is to be kept for the next one unless it is None. A workload that holds
    its quota already is there to be placed on its topology (second pass).
    """

    workload: Workload
    queue: ClusterQueue
    node: QuotaNode
    preempting: bool = False
    scan: FlavorScan | None = None
    assignment_cache: AssignmentCache | None = None  # the same for all workloads of its queue that are alike
    assignment: Assignment = field(default_factory=lambda: _UNASSIGNED)
    targets: tuple[Target, ...] = ()
    replaced: Holding | None = None  # the slice of the same job that it takes the place of
    outcome: Outcome = Outcome.UNTRIED
    rival: str = ""  # key of the workload that has what it needs
    admission: Admission | None = None
    priority_boost: int = 0  # what aging has added to its priority while it waited
    note: WaitNote | None = None  # of an optional rule
    until_ms: int | None = None  # when a rule may decide otherwise over a flavor that was tried in this pass

    @property
    def ranked(self) -> Workload:
        """The workload with the priority that counts among the heads."""
        workload = self.workload
        return (
            replace(workload, priority=workload.priority + self.priority_boost)
            if self.priority_boost
            else workload
        )

    @property
    def usage(self) -> Usage:
        """The quota that it takes in addition to what it holds."""
        return self.assignment.usage if self.workload.admission is None else {}

    @property
    def claimed(self) -> list[Holding]:
        """Holdings that no other head may have: the slice that it replaces, and its targets."""
        replaced = [] if self.replaced is None else [self.replaced]
        return [*replaced, *(target.holding for target in self.targets)]


class HeadReservations(Protocol):
    """Keeps room for heads that wait: a hook of the cycle (rules/backfill.py)."""

    def ruling(self, head: Entry) -> Ruling: ...

    def drop_reservation(self, head: Entry) -> None: ...

    def is_behind_reservation(self, head: Entry) -> bool: ...


CycleOrder = tuple[bool, bool, int, int, int, str, str]


def cycle_order(
    rules: Rules, order: QueueOrder, admitted: bool, preempting: bool, borrowing: int
) -> CycleOrder:
    """Returns the order of a head by its order in the queue, whether it holds its quota already, whether it
    is preempting, and its borrowing distance.

    A workload that holds its quota already comes first, then the shorter borrowing distance, the higher
    priority, and the longer wait. Rules may put preemptors before the distance and ignore priorities.
    """
    _, priority_below, queued_at_ms, uid, name = order
    return (
        not admitted,
        not (preempting and rules.prioritize_preemptors),
        borrowing,
        priority_below if rules.priority_sorting_within_cohort else 0,
        queued_at_ms,
        uid,
        name,
    )
