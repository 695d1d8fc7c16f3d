"""Changes that a decision makes, collected while it runs."""

from dataclasses import dataclass, field

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
        state.take_back(holding)
        del self.admitted[workload.key]
        replaced = self.replaced.pop(workload.key, None)
        if replaced is not None:
            # The slice that it grew from was to leave only if it came in.
            state.hold(replaced)
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
