"""A head in a cycle: its assignment, its outcome, and its position among the heads."""

from dataclasses import dataclass, replace
from enum import IntEnum, auto
from typing import NamedTuple, Protocol

from muster.admission.cycle.assignment_cache import AssignmentCache
from muster.admission.flavors.assignment import Assignment
from muster.admission.flavors.attempts import ScanProgress
from muster.admission.model import Admission, ClusterQueue, Rules, Workload, ranks_over_budget
from muster.admission.preemption.search import Target
from muster.admission.queueing.groups import QueueOrder
from muster.admission.queueing.requeue import RequeueReason
from muster.admission.quota.tree import QuotaNode, Usage
from muster.admission.state.holdings import Holding
from muster.admission.wait_note import Ruling, WaitNote


class EntryOutcome(IntEnum):
    """The outcome of a head (Kueue: entryStatus, with the reason for requeueing).

    An IntEnum, as the hash of an Enum is a call of Python code, and each head is looked up by it."""

    UNTRIED = auto()
    ADMITTED = auto()
    PREEMPTING = auto()  # the caller evicts its targets
    DEFERRED = auto()  # it fits once the targets of other heads have terminated
    OVERLAPPING = auto()  # an earlier head claimed one of its targets
    CROWDED_OUT = auto()  # it no longer fits, as the cycle admitted or reserved for other heads
    HELD = auto()  # an optional rule holds it back: see its note
    GATED = auto()  # it needs preemption, and a preemption gate is closed
    NO_CANDIDATES = auto()  # it needs preemption, and there are no candidates
    NO_FIT = auto()
    WRONG_NAMESPACE = auto()  # the queue's namespaceSelector does not match
    NOT_REPLACED = auto()  # one of its nodes failed, and no other node fits its pods: it is evicted
    CHECK_FAILED = auto()  # an admission check is in state Retry or Rejected
    REFUSED = auto()  # its requests are invalid, or exceed a limit


REQUEUE = {
    EntryOutcome.PREEMPTING: RequeueReason.PENDING_PREEMPTION,
    EntryOutcome.DEFERRED: RequeueReason.PENDING_PREEMPTION,
    EntryOutcome.OVERLAPPING: RequeueReason.AFTER_NOMINATION,
    EntryOutcome.CROWDED_OUT: RequeueReason.AFTER_NOMINATION,
    EntryOutcome.HELD: RequeueReason.NO_FIT,
    EntryOutcome.GATED: RequeueReason.PREEMPTION_GATED,
    EntryOutcome.NO_CANDIDATES: RequeueReason.NO_CANDIDATES,
    EntryOutcome.NO_FIT: RequeueReason.NO_FIT,
    EntryOutcome.WRONG_NAMESPACE: RequeueReason.NAMESPACE_MISMATCH,
    EntryOutcome.CHECK_FAILED: RequeueReason.GENERIC,
    EntryOutcome.REFUSED: RequeueReason.GENERIC,
}
"""The reason for requeueing a head that is not admitted."""


class FlavorScan(NamedTuple):
    """The progress of a search for flavors, its cycle, and the queue's `generation` at that time."""

    progress: ScanProgress
    cycle: int
    generation: int


_UNASSIGNED = Assignment()  # never changed


@dataclass(init=False, slots=True, eq=False)
class Entry:
    """A head of an active queue. The caller sets the first fields; a cycle fills in the others.

    `preempting`: it was requeued as PENDING_PREEMPTION. `scan` is the flavor scan of the previous cycle; the
    caller keeps it for the next one unless it is None. A workload that already holds quota is a head only to
    get nodes of its topology (second pass).
    """

    workload: Workload
    queue: ClusterQueue
    node: QuotaNode
    preempting: bool
    scan: FlavorScan | None
    copies: int  # the equivalent workloads that wait in its queue, with itself
    assignment_cache: AssignmentCache | None  # shared by its equivalence group
    assignment: Assignment
    targets: tuple[Target, ...]
    replaced: Holding | None  # the slice of the same job that it replaces
    outcome: EntryOutcome
    rival: str  # key of the workload that claimed or reserved its quota
    admission: Admission | None
    priority_boost: int  # added by aging while it waited
    note: WaitNote | None  # from an optional rule
    until_ms: int | None  # when a rule may change its ruling on a flavor tried in this pass

    # Written out, as mypyc does not compile the method that `dataclass` adds.
    def __init__(
        self,
        workload: Workload,
        queue: ClusterQueue,
        node: QuotaNode,
        preempting: bool = False,
        copies: int = 1,
    ) -> None:
        self.workload = workload
        self.queue = queue
        self.node = node
        self.preempting = preempting
        self.copies = copies
        self.scan = self.assignment_cache = None
        self.assignment = _UNASSIGNED
        self.targets = ()
        self.replaced = None
        self.outcome = EntryOutcome.UNTRIED
        self.rival = ""
        self.admission = None
        self.priority_boost = 0
        self.note = self.until_ms = None

    @property
    def ranked(self) -> Workload:
        """The workload with its boosted priority, which orders the heads."""
        workload = self.workload
        return (
            replace(workload, priority=workload.priority + self.priority_boost)
            if self.priority_boost
            else workload
        )

    @property
    def usage(self) -> Usage:
        """The quota that it needs in addition to its current quota."""
        return self.assignment.usage if self.workload.admission is None else {}

    @property
    def claimed(self) -> list[Holding]:
        """Holdings that no other head may claim: the slice that it replaces, and its targets."""
        replaced = [] if self.replaced is None else [self.replaced]
        return [*replaced, *(target.holding for target in self.targets)]


class HeadReservations(Protocol):
    """Reserves quota for heads that wait: a hook of the cycle (rules/backfill.py)."""

    def ruling(self, head: Entry) -> Ruling:
        """Returns the ruling on a head that fits: it may be held back so that reserved heads are not
        delayed."""

    def drop_reservation(self, head: Entry) -> None:
        """Drops the reservation of a head that no longer needs it."""

    def is_behind_reservation(self, head: Entry) -> bool:
        """Returns whether the head is behind a head of its queue that has a reservation."""


CycleOrder = tuple[bool, bool, bool, int, int, int, str, str]


def cycle_order(
    rules: Rules, order: QueueOrder, admitted: bool, preempting: bool, borrowing: int
) -> CycleOrder:
    """Returns the sort key of a head. `order` is its order in the queue, `admitted` whether it already holds
    quota, `borrowing` its borrowing distance.

    Workloads that already hold quota come first, then those within their budgets, the shorter borrowing
    distance, the higher priority, and the longer wait. Rules may put preemptors before the distance, and
    ignore priorities.
    """
    _, priority_below, queued_at_ms, uid, name = order
    return (
        not admitted,
        ranks_over_budget(-priority_below),
        not (preempting and rules.prioritize_preemptors),
        borrowing,
        priority_below if rules.priority_sorting_within_cohort else 0,
        queued_at_ms,
        uid,
        name,
    )
