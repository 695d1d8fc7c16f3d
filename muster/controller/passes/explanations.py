"""Why pending workloads wait: explained promptly when it is new, and again now and then when it may differ.

An explanation costs more than most decisions, and its numbers change for all that wait with every admission.
So each pass explains a limited number.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from muster import admission as core

AGAIN_INTERVAL_MS = 10_000  # at least, between two explanations of a workload that waits for nothing new


@dataclass(frozen=True, slots=True)
class Limits:
    """How many workloads a pass may explain: those that wait for something new, and others again."""

    new: int
    again: int


@dataclass(frozen=True, slots=True)
class Explained:
    """The workloads that a pass explained, by key: `new` of them new, `again` others. `new_left`: some wait
    for something new that is not explained yet; `again_ms`: when the oldest explanation that may be out of
    date is due again, None if there is none."""

    keys: frozenset[str] = frozenset()
    new: int = 0
    again: int = 0
    new_left: bool = False
    again_ms: int | None = None


@dataclass(frozen=True, slots=True)
class _Explanation:
    waiting: core.Waiting
    at_ms: int
    decision: int  # its number


class Explanations:
    """The last explanation of each workload that waits; one that has just begun to wait has none yet."""

    def __init__(self) -> None:
        self._known: dict[str, _Explanation] = {}  # the oldest first
        self._changed = True  # since `take_changed`
        self._due = core.Timers()  # when reasons change by time alone
        self._new: dict[str, None] = {}  # in order of arrival
        self._decision = self._outdated = 0  # explanations of decisions before this one may be out of date
        self._is_renewed = False

    def get(self, key: str) -> core.Waiting | None:
        found = self._known.get(key)
        return None if found is None else found.waiting

    def __iter__(self) -> Iterator[core.Waiting]:
        return (explanation.waiting for explanation in self._known.values())

    @property
    def until_ms(self) -> int | None:
        """When time alone may change a reason next."""
        return self._due.next_ms

    def renew(self) -> None:
        """Marks all as out of date: the next decision is that of a new engine, to which all are new."""
        self._is_renewed = True

    def forget(self, key: str) -> None:
        """Forgets a workload that does not wait any more."""
        if self._known.pop(key, None) is not None:
            self._changed = True
        self._new.pop(key, None)
        self._due.set(key, None)

    def take_changed(self) -> bool:
        """Returns whether any explanation has changed since the last call."""
        changed, self._changed = self._changed, False
        return changed

    def explain(self, engine: core.Engine, now_ms: int, limits: Limits | None) -> Explained:
        """Explains those that wait as of the engine's last decision; without limits, all that may wait for
        something else."""
        self._note_decision(engine, now_ms)
        new = list(self._new if limits is None else islice(self._new, limits.new))
        for key in new:
            del self._new[key]
        again = list(self._outdated_keys(now_ms, limits))
        asked = dict.fromkeys((*new, *again))
        explained = {found.workload: found for found in engine.waiting(now_ms, asked)}
        for key in asked:
            self._known.pop(key, None)
            if key in explained:
                self._known[key] = _Explanation(explained[key], now_ms, self._decision)
                self._due.set(key, explained[key].until_ms)
        self._changed = self._changed or bool(explained)
        return Explained(frozenset(explained), len(new), len(again), bool(self._new), self._again_ms())

    def _note_decision(self, engine: core.Engine, now_ms: int) -> None:
        self._decision += 1
        new = dict.fromkeys((*engine.news, *self._due.take_due(now_ms)))
        if self._is_renewed:
            new = dict.fromkeys(key for key in new if key not in self._known)
        if self._is_renewed or next(engine.affected(), None) is not None:
            self._outdated, self._is_renewed = self._decision, False
        self._new |= new

    def _outdated_keys(self, now_ms: int, limits: Limits | None) -> Iterator[str]:
        """Yields those that are due to be explained again, the oldest first."""
        for key, explanation in islice(self._known.items(), None if limits is None else limits.again):
            recent = limits is not None and 0 <= now_ms - explanation.at_ms < AGAIN_INTERVAL_MS
            if explanation.decision >= self._outdated or recent:
                return
            yield key

    def _again_ms(self) -> int | None:
        oldest = next(iter(self._known.values()), None)
        if oldest is None or oldest.decision >= self._outdated:
            return None
        return oldest.at_ms + AGAIN_INTERVAL_MS
