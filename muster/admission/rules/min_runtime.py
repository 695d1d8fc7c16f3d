"""Minimum run time: protects workloads from preemption until they have held their quota for that time.

Each queue may override the general value. The rule does not protect evicted workloads, nor workloads that the
same decision admitted, which have not started.
"""

from collections.abc import Iterable, Iterator, Mapping

from muster.admission.state.holdings import Holding
from muster.admission.wait_note import WaitNote, duration


class MinRuntime:
    """Minimum run times by queue. The engine sets `now_ms` before each decision. `notes` are by the keys of
    workloads that find no targets only because of the protection.

    `begins`: a search has visited a candidate that has not started, and will be protected afterwards."""

    __slots__ = ("_by_queue", "_first_end", "_suspended", "begins", "notes", "now_ms")

    def __init__(self, by_queue: Mapping[str, int]) -> None:
        """`by_queue` has milliseconds by queue name."""
        self._by_queue = by_queue
        # The earliest end of protection among candidates that the current search skipped, and the queue. Not
        # the holding, which may be released before the next search.
        self._first_end: tuple[int, str] | None = None
        self._suspended = False
        self.now_ms = 0
        self.begins = False
        self.notes: dict[str, WaitNote] = {}

    def ends_ms(self, holding: Holding) -> int:
        """Returns when the holding's protection ends; 0 without protection."""
        if holding.evicted or not holding.started:
            return 0
        return holding.reserved_at_ms + self._by_queue[holding.node.name]

    def next_end_ms(self, holdings: Iterable[Holding]) -> int | None:
        """Returns the next end of a protection among these holdings; None if none is protected."""
        ends_ms = (self.ends_ms(holding) for holding in holdings)
        return min((at_ms for at_ms in ends_ms if at_ms > self.now_ms), default=None)

    def unprotected(self, candidates: Iterable[Holding]) -> Iterator[Holding]:
        """Yields the candidates whose minimum run time has ended."""
        for holding in candidates:
            ends_ms = self.ends_ms(holding)
            if self._suspended or ends_ms <= self.now_ms:
                self.begins |= not holding.started and self._by_queue[holding.node.name] > 0
                yield holding
            elif self._first_end is None or ends_ms < self._first_end[0]:
                self._first_end = ends_ms, holding.node.name

    def begin(self) -> None:
        """Starts a search for targets."""
        self._first_end = None

    def suspend(self) -> bool:
        """Suspends the protection if the search skipped a candidate; returns whether it did."""
        self._suspended = self._first_end is not None
        return self._suspended

    def resume(self, preemptor: str, has_targets: bool) -> None:
        """Restores the protection. If the preemptor `has_targets` without it, records a note."""
        self._suspended = False
        if not has_targets:
            return
        assert self._first_end is not None  # else nothing was suspended
        until_ms, queue = self._first_end
        note = self.notes.get(preemptor)
        if note is None or note.until_ms is None or until_ms < note.until_ms:
            run_time = duration(self._by_queue[queue])
            message = f"and workloads that it may preempt are protected for {run_time} after their start"
            self.notes[preemptor] = WaitNote(message, until_ms)
