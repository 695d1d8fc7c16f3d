"""Minimum run time: whoever has its quota for less than that is not preempted.

It is that of the workload's own queue, or the one for all. It protects against preemption only, and
neither who is leaving anyway nor who was let in by the same decision and has not started.
"""

from collections.abc import Iterable, Iterator, Mapping

from muster.admission.model import ClusterQueue, Rules
from muster.admission.rules.remark import Remark, duration
from muster.admission.state.holdings import Holding


def tenure(queues: Mapping[str, ClusterQueue], rules: Rules) -> "Tenure | None":
    """None where nobody is protected."""
    by_queue = {
        name: rules.run_time_ms_min if queue.run_time_ms_min is None else queue.run_time_ms_min
        for name, queue in queues.items()
    }
    return Tenure(by_queue) if any(by_queue.values()) else None


class Tenure:
    """`now_ms` is set before it is asked. `remarks` are by the keys of workloads that found no victims,
    but would have if nobody were protected."""

    __slots__ = ("_by_queue", "_passed_over", "_suspended", "now_ms", "remarks")

    def __init__(self, by_queue: Mapping[str, int]) -> None:
        """Milliseconds by name of the queue."""
        self._by_queue = by_queue
        self._passed_over: list[Holding] = []  # in the present search
        self._suspended = False
        self.now_ms = 0
        self.remarks: dict[str, Remark] = {}

    def ends_ms(self, holding: Holding) -> int:
        """When it may be preempted."""
        if holding.evicted or not holding.started:
            return 0
        return holding.reserved_at_ms + self._by_queue[holding.node.name]

    def next_end_ms(self, holdings: Iterable[Holding]) -> int | None:
        """When the next of these that is protected now no longer is."""
        ends_ms = (self.ends_ms(holding) for holding in holdings)
        return min((at_ms for at_ms in ends_ms if at_ms > self.now_ms), default=None)

    def unprotected(self, candidates: Iterable[Holding]) -> Iterator[Holding]:
        for holding in candidates:
            if self._suspended or self.ends_ms(holding) <= self.now_ms:
                yield holding
            else:
                self._passed_over.append(holding)

    def begin(self) -> None:
        """A search for victims."""
        self._passed_over.clear()

    def suspend(self) -> bool:
        """Whether the search has passed over anybody; from now on nobody is protected."""
        self._suspended = bool(self._passed_over)
        return self._suspended

    def resume(self, preemptor: str, found: bool) -> None:
        """`found` says whether there are victims if nobody is protected: then that is what binds."""
        self._suspended = False
        if not found:
            return
        first = min(self._passed_over, key=self.ends_ms)
        until_ms = self.ends_ms(first)
        known = self.remarks.get(preemptor)
        if known is None or known.until_ms is None or until_ms < known.until_ms:
            least = duration(self._by_queue[first.node.name])
            message = f"and those that it may preempt have to run for {least} at least"
            self.remarks[preemptor] = Remark(message, until_ms)
