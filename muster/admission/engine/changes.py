"""The changes of a decision, and the workloads with these changes applied."""

from collections.abc import Iterator, KeysView, Mapping
from dataclasses import dataclass, replace

from muster.admission.cycle.entry import Entry
from muster.admission.model import Preemption, Workload
from muster.admission.preemption.search import Target
from muster.admission.state.holdings import Holding
from muster.admission.state.over_budget import of_usage
from muster.admission.state.state import WorkingState

_REVERTED_MAX = 2  # times that one decision reverts its own admission of a workload


@dataclass(init=False, slots=True)
class Changes:
    """The changes, by workload key. `count` grows with each change, `freed` with each that releases quota, so
    that other workloads may fit."""

    admitted: dict[str, Holding]
    replaced: dict[str, Holding]  # slices, by the replacing workload's key
    evicted: list[tuple[Holding, Preemption]]
    displaced: list[Holding]  # without a replacement for a failed node
    marked: dict[str, Workload]  # it starts or stops waiting for targets
    unmarked: set[str]  # unmarked in this decision: not marked again
    retried_next: list[Workload]  # reverted too often in this decision
    count: int
    freed: int
    _reverted: dict[str, int]

    # Written out, as mypyc does not compile the method that `dataclass` adds.
    def __init__(self) -> None:
        self.admitted = {}
        self.replaced = {}
        self.evicted = []
        self.displaced = []
        self.marked = {}
        self.unmarked = set()
        self.retried_next = []
        self.count = self.freed = 0
        self._reverted = {}

    def admit(self, head: Entry, holding: Holding) -> None:
        """Records an admission by this decision, and the slice that it replaces."""
        key = head.workload.key
        self.admitted[key] = holding
        if head.replaced is not None:
            self.replaced[key] = head.replaced
            # The slice never starts if this same decision admitted it.
            self.admitted.pop(head.replaced.workload.key, None)
            self.freed += 1
        self.count += 1

    def displace(self, state: WorkingState, holding: Holding) -> None:
        """Records that a failed node of the holding has no replacement, so it is evicted with its surplus."""
        for evicted in (holding, *_surplus(state, holding)):
            state.evict(evicted)
            self.displaced.append(evicted)
            self.count += 1

    def preempt(self, state: WorkingState, target: Target, preemptor: Workload) -> list[Workload]:
        """Evicts a target with its surplus, unless they are already evicted.

        A target that this same decision admitted has not started: its admission is reverted. Returns the
        workloads that the caller must requeue now."""
        targets = [target, *(Target(other, target.reason) for other in _surplus(state, target.holding))]
        requeued = [self._preempt(state, target, preemptor) for target in targets]
        return [workload for workload in requeued if workload is not None]

    def _preempt(self, state: WorkingState, target: Target, preemptor: Workload) -> Workload | None:
        holding = target.holding
        if not holding.started:
            return self._revert_admission(state, holding)
        if not holding.evicted:
            state.evict(holding)
            budget = "" if preemptor.over_budget else _used_up(state, holding)
            preemption = Preemption(holding.workload.key, preemptor.key, target.reason, budget)
            self.evicted.append((holding, preemption))
            self.count += 1
        return None

    def _revert_admission(self, state: WorkingState, holding: Holding) -> Workload | None:
        workload = holding.workload
        state.remove_holding(holding)
        del self.admitted[workload.key]
        replaced = self.replaced.pop(workload.key, None)
        if replaced is not None:
            # The replaced slice keeps its quota, as its successor is not admitted.
            state.add_holding(replaced)
            if not replaced.started:
                self.admitted[replaced.workload.key] = replaced
        self.count += 1
        self.freed += 1
        times = self._reverted[workload.key] = self._reverted.get(workload.key, 0) + 1
        # Two workloads that preempt each other would prevent the decision from ending: from the second time
        # on the workload is retried only in the next decision.
        if times < _REVERTED_MAX:
            return workload
        self.retried_next.append(workload)
        return None

    def mark(self, workload: Workload) -> None:
        """Records that the workload starts or stops waiting for its targets."""
        self.marked[workload.key] = workload
        self.count += 1


def _used_up(state: WorkingState, holding: Holding) -> str:
    """Returns a clause about the soft budget that the holding is over; empty if there is none."""
    used_up = of_usage(state.used_up, holding.node.name, holding.usage)
    return "" if used_up is None else used_up.message


def _surplus(state: WorkingState, holding: Holding) -> list[Holding]:
    """Returns the surplus of a gang that is not evicted."""
    surplus = state.holdings[holding.node.name].surplus.get(holding.workload.key, {})
    return [other for other in surplus.values() if not other.evicted]


class TrackedWorkloads:
    """The workloads of an engine, with the changes of its plans.

    Admissions and evictions are written into a workload's object lazily, on the first read: usually the
    caller puts an object that shows them, or removes it, before that."""

    __slots__ = ("_objects", "_unwritten")

    def __init__(self) -> None:
        self._objects: dict[str, Workload] = {}
        self._unwritten: dict[str, Holding] = {}  # of workloads whose object does not show it yet

    def __iter__(self) -> Iterator[Workload]:
        for key in self._objects:
            yield self._now(key)

    def __contains__(self, key: str) -> bool:
        return key in self._objects

    def keys(self) -> KeysView[str]:
        """Returns the keys of all workloads."""
        return self._objects.keys()

    def get(self, key: str) -> Workload | None:
        """Returns the current workload with a key; None if there is none."""
        return self._now(key) if key in self._objects else None

    def pending(self, key: str) -> Workload | None:
        """Returns the workload, if it exists and holds no quota."""
        workload = self._objects.get(key)
        is_pending = workload is not None and workload.admission is None and key not in self._unwritten
        return workload if is_pending else None

    def fork(self, copies: Mapping[Holding, Holding]) -> "TrackedWorkloads":
        """Returns a copy. `copies` maps the holdings of this state to their copies."""
        copy = TrackedWorkloads()
        copy._objects = dict(self._objects)
        copy._unwritten = {key: copies[holding] for key, holding in self._unwritten.items()}
        return copy

    def put(self, workload: Workload) -> None:
        """Adds or replaces a workload."""
        self._objects[workload.key] = workload

    def pop(self, key: str) -> tuple[Workload, Holding | None]:
        """Removes a workload; returns its object, and its holding if the object does not show it
        yet."""
        return self._objects.pop(key), self._unwritten.pop(key, None)

    def apply(self, changes: Changes) -> None:
        """Updates the workloads as if the changes were already written."""
        self._objects.update(changes.marked)
        for holding in changes.replaced.values():
            self._unwritten.pop(holding.workload.key, None)
            del self._objects[holding.workload.key]
        self._unwritten |= {
            key: holding for key, holding in changes.admitted.items() if holding.admission is not None
        }
        for holding in (*changes.displaced, *(target for target, _ in changes.evicted)):
            self.evict(holding)

    def evict(self, holding: Holding) -> None:
        """Marks the workload of a holding as evicted."""
        self._unwritten[holding.workload.key] = holding

    def _now(self, key: str) -> Workload:
        holding = self._unwritten.pop(key, None)
        if holding is None:
            return self._objects[key]
        if holding.admission is None:
            workload = replace(self._objects[key], evicted=holding.evicted)
        else:
            workload = replace(
                holding.workload,
                admission=holding.admission,
                reserved_at_ms=holding.reserved_at_ms,
                evicted=holding.evicted,
                preempting=False,
                unhealthy_nodes=(),
            )
            holding.admission = None
        holding.workload = self._objects[key] = workload
        return workload
