"""Changes that a decision makes, and the workloads as they are once these are carried out."""

from collections.abc import Iterator, KeysView, Mapping
from dataclasses import dataclass, field, replace

from muster.admission.cycle.entry import Entry
from muster.admission.model import Preemption, Workload
from muster.admission.preemption.search import Target
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState

_TAKEN_BACK_MAX = 2  # how often one decision takes back its own admission of a workload


@dataclass(slots=True)
class Changes:
    """Changes by the workloads' keys. `count` goes up with each one, `freed` with each that lets others try
    again."""

    admitted: dict[str, Holding] = field(default_factory=dict)
    # Slices, by the key of the workload that replaces them
    replaced: dict[str, Holding] = field(default_factory=dict)
    evicted: list[tuple[Holding, Preemption]] = field(default_factory=list)
    displaced: list[Holding] = field(default_factory=list)  # no node replaces their failed one
    marked: dict[str, Workload] = field(default_factory=dict)  # it begins or ceases to wait for victims
    unmarked: set[str] = field(default_factory=set)  # unmarked once in this decision: not marked again
    retried_next: list[Workload] = field(default_factory=list)  # taken back too often in this decision
    count: int = 0
    freed: int = 0
    _taken_back: dict[str, int] = field(default_factory=dict)

    def admit(self, head: Entry, holding: Holding) -> None:
        key = head.workload.key
        self.admitted[key] = holding
        if head.replaced is not None:
            self.replaced[key] = head.replaced
            self.admitted.pop(head.replaced.workload.key, None)  # a slice of this decision: it never starts
            self.freed += 1
        self.count += 1

    def displace(self, state: WorkingState, holding: Holding) -> None:
        state.evict(holding)
        self.displaced.append(holding)
        self.count += 1

    def preempt(self, state: WorkingState, target: Target, preemptor: Workload) -> Workload | None:
        """Evicts a victim, unless it is leaving already.

        A victim that was admitted by this decision has not started: its admission is taken back, and it is
        returned if it is to be queued again now."""
        holding = target.holding
        if not holding.started:
            return self._take_back(state, holding)
        if not holding.evicted:
            state.evict(holding)
            preemption = Preemption(holding.workload.key, preemptor.key, target.reason)
            self.evicted.append((holding, preemption))
            self.count += 1
        return None

    def _take_back(self, state: WorkingState, holding: Holding) -> Workload | None:
        workload = holding.workload
        state.remove_holding(holding)
        del self.admitted[workload.key]
        replaced = self.replaced.pop(workload.key, None)
        if replaced is not None:
            # The slice that it grew from was to leave only if it came in.
            state.add_holding(replaced)
            if not replaced.started:
                self.admitted[replaced.workload.key] = replaced
        self.count += 1
        self.freed += 1
        times = self._taken_back[workload.key] = self._taken_back.get(workload.key, 0) + 1
        # Two workloads that preempt each other would keep one decision going for ever. From the second time
        # on the workload waits for the next decision.
        if times < _TAKEN_BACK_MAX:
            return workload
        self.retried_next.append(workload)
        return None

    def mark(self, workload: Workload) -> None:
        """Records that it begins, or ceases, to wait for its victims."""
        self.marked[workload.key] = workload
        self.count += 1


class KnownWorkloads:
    """The workloads that an engine was given, with what its plans change about them.

    An admitted workload gets its admission only when it is read: most often the caller puts the object that
    has it before anything else needs it."""

    __slots__ = ("_admitted", "_objects")

    def __init__(self) -> None:
        self._objects: dict[str, Workload] = {}
        self._admitted: dict[str, Holding] = {}  # those whose object does not show its quota yet

    def __iter__(self) -> Iterator[Workload]:
        for key in self._objects:
            yield self._now(key)

    def __contains__(self, key: str) -> bool:
        return key in self._objects

    def keys(self) -> KeysView[str]:
        return self._objects.keys()

    def get(self, key: str) -> Workload | None:
        return self._now(key) if key in self._objects else None

    def pending(self, key: str) -> Workload | None:
        """The workload, if it is known and holds no quota."""
        found = self._objects.get(key)
        return None if found is None or found.admission is not None or key in self._admitted else found

    def fork(self, held: Mapping[Holding, Holding]) -> "KnownWorkloads":
        """`held` are the copies of the holdings."""
        copy = KnownWorkloads()
        copy._objects = dict(self._objects)
        copy._admitted = {key: held[holding] for key, holding in self._admitted.items()}
        return copy

    def put(self, workload: Workload) -> None:
        self._objects[workload.key] = workload

    def pop(self, key: str) -> tuple[Workload, Holding | None]:
        """Drops a workload; returns its object, and its quota if the object does not show that."""
        return self._objects.pop(key), self._admitted.pop(key, None)

    def carry_out(self, changes: Changes) -> None:
        self._objects.update(changes.marked)
        for holding in changes.replaced.values():
            self._admitted.pop(holding.workload.key, None)
            del self._objects[holding.workload.key]
        self._admitted |= {key: held for key, held in changes.admitted.items() if held.admission is not None}
        for holding in (*changes.displaced, *(victim for victim, _ in changes.evicted)):
            self.evict(holding)

    def evict(self, holding: Holding) -> None:
        key = holding.workload.key
        holding.workload = self._objects[key] = replace(self._now(key), evicted=True)

    def _now(self, key: str) -> Workload:
        holding = self._admitted.pop(key, None)
        if holding is not None:
            holding.workload = self._objects[key] = replace(
                holding.workload,
                admission=holding.admission,
                reserved_at_ms=holding.reserved_at_ms,
                preempting=False,
                unhealthy_nodes=(),
            )
            holding.admission = None
        return self._objects[key]
