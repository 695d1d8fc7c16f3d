"""What a decision changes, as it goes on."""

from dataclasses import dataclass, field

from muster.admission.cycle.entry import Entry
from muster.admission.model import Preemption, Workload
from muster.admission.preemption.search import Target
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState

_TAKEN_BACK_MAX = 2  # how often one decision takes back its own admission of a workload


@dataclass(slots=True)
class Changes:
    """By the workloads' keys. `count` goes up with each one, `freed` with each that lets others try again."""

    admitted: dict[str, Holding] = field(default_factory=dict)
    replaced: dict[str, Holding] = field(default_factory=dict)  # slices, by the key of who replaces them
    evicted: list[tuple[Holding, Preemption]] = field(default_factory=list)
    displaced: list[Holding] = field(default_factory=list)  # whose failed node nothing replaces
    marked: dict[str, Workload] = field(default_factory=dict)  # who has begun or ceased to wait for victims
    unmarked: set[str] = field(default_factory=set)  # who has ceased once: that is enough
    barred: list[Workload] = field(default_factory=list)  # who was taken back too often
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

    def send_away(self, state: WorkingState, target: Target, preemptor: Workload) -> Workload | None:
        """Evicts a victim, unless it is leaving already. One that this very decision let in has not started
        and is taken back; it is answered, if it is to line up again."""
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
            state.hold(replaced)
        self.count += 1
        self.freed += 1
        times = self._taken_back[workload.key] = self._taken_back.get(workload.key, 0) + 1
        if times < _TAKEN_BACK_MAX:
            return workload
        self.barred.append(workload)
        return None

    def mark(self, workload: Workload) -> None:
        """It begins, or ceases, to wait for its victims."""
        self.marked[workload.key] = workload
        self.count += 1
