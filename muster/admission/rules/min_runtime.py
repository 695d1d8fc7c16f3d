"""Minimum run time: a workload that has held its quota for less is not preempted.

It is that of the workload's own queue, or the one for all. It protects against preemption only, and
neither workloads that are leaving anyway nor those that the same decision admitted and that have not
started.
"""

from collections.abc import Iterable, Iterator, Mapping

from muster.admission.state.holdings import Holding
from muster.admission.wait_note import WaitNote, duration


class MinRuntime:
    """Minimum run times by queue. `now_ms` is set before each decision. `notes` are by the keys of
    workloads that found no victims, but would have found some without the protection.

    `begins`: a search has met a candidate that has not started, and is protected once it has."""

    __slots__ = ("_by_queue", "_first_end", "_suspended", "begins", "notes", "now_ms")

    def __init__(self, by_queue: Mapping[str, int]) -> None:
        """Milliseconds by name of the queue."""
        self._by_queue = by_queue
        # Of the candidates that the present search has skipped: when the first may be preempted, and its
        # queue. Holdings are not kept here, as they may be gone before the next search.
        self._first_end: tuple[int, str] | None = None
        self._suspended = False
        self.now_ms = 0
        self.begins = False
        self.notes: dict[str, WaitNote] = {}

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
            ends_ms = self.ends_ms(holding)
            if self._suspended or ends_ms <= self.now_ms:
                self.begins |= not holding.started and self._by_queue[holding.node.name] > 0
                yield holding
            elif self._first_end is None or ends_ms < self._first_end[0]:
                self._first_end = ends_ms, holding.node.name

    def begin(self) -> None:
        """Begins a search for victims."""
        self._first_end = None

    def suspend(self) -> bool:
        """Suspends the protection if the search has skipped a candidate; returns whether it has."""
        self._suspended = self._first_end is not None
        return self._suspended

    def resume(self, preemptor: str, found: bool) -> None:
        """Restores the protection. `found`: there are victims without it, so the preemptor gets a note."""
        self._suspended = False
        if not found:
            return
        assert self._first_end is not None  # else nothing was suspended
        until_ms, queue = self._first_end
        known = self.notes.get(preemptor)
        if known is None or known.until_ms is None or until_ms < known.until_ms:
            least = duration(self._by_queue[queue])
            message = f"and those that it may preempt have to run for {least} at least"
            self.notes[preemptor] = WaitNote(message, until_ms)
