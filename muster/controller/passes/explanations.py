"""Explanations why pending workloads wait: prompt for new reasons, refreshed later if they may be outdated.

An explanation costs more than most decisions, and every admission changes the numbers of all pending
workloads. Therefore each pass explains a limited number of workloads.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from muster import admission as core
from muster.translation.elastic import is_surplus

AGAIN_INTERVAL_MS = 10_000  # the minimum between explanations of a workload without a new reason


@dataclass(frozen=True, slots=True)
class ExplanationLimits:
    """The maximum numbers of workloads that a pass explains."""

    # With a new reason, or one that names a workload that has started or is gone.
    new: int
    # Without a new reason, if their explanations may be outdated.
    again: int


@dataclass(frozen=True, slots=True)
class Explained:
    """The workloads that a pass explained."""

    # Their keys.
    keys: frozenset[str] = frozenset()
    # The number of explanations of new reasons.
    new: int = 0
    # The number of refreshed explanations.
    again: int = 0
    # Some new reasons are not explained yet.
    new_left: bool = False
    # When the oldest outdated explanation is due; None if there is none.
    again_ms: int | None = None


@dataclass(frozen=True, slots=True)
class _Explanation:
    waiting: core.Waiting
    at_ms: int
    decision: int  # the number of the decision


class Explanations:
    """The last explanation of each pending workload; a workload that has just been queued has none yet."""

    def __init__(self) -> None:
        self._by_workload: dict[str, _Explanation] = {}  # the oldest first
        self._changed = True  # since `take_changed`
        self._due = core.Timers()  # when reasons change without a change of objects
        self._new: dict[str, None] = {}  # in order of arrival
        self._naming: dict[str, dict[str, None]] = {}  # workloads by a workload that their explanation names
        self._untrue: dict[str, None] = {}  # whose explanation names a workload that has started or is gone
        self._decision = self._outdated = 0  # explanations of decisions before this number are outdated
        self._is_renewed = False

    def get(self, key: str) -> core.Waiting | None:
        """Returns why a workload waits, by its key; None if it has no explanation."""
        explanation = self._by_workload.get(key)
        return None if explanation is None else explanation.waiting

    def __iter__(self) -> Iterator[core.Waiting]:
        return (explanation.waiting for explanation in self._by_workload.values())

    @property
    def until_ms(self) -> int | None:
        """The next time at which a reason may change without a change of objects."""
        return self._due.next_ms

    def renew(self) -> None:
        """Marks all explanations as outdated. The next decision is that of a new engine, for which all
        workloads are new."""
        self._is_renewed = True

    def forget(self, key: str) -> None:
        """Forgets a workload that is no longer pending. Explanations that name it have become untrue."""
        if key in self._by_workload:
            self._drop(key)
            self._changed = True
        self._new.pop(key, None)
        self._untrue.pop(key, None)
        self._due.set(key, None)
        self._untrue |= self._naming.pop(key, {})

    def _drop(self, key: str) -> None:
        """Removes the explanation of a workload, if it has one."""
        explanation = self._by_workload.pop(key, None)
        for other in explanation.waiting.others if explanation is not None else ():
            naming = self._naming.get(other, {})
            naming.pop(key, None)
            if not naming:
                self._naming.pop(other, None)

    def take_changed(self) -> bool:
        """Returns whether any explanation has changed since the last call."""
        changed, self._changed = self._changed, False
        return changed

    def explain(self, engine: core.Engine, now_ms: int, limits: ExplanationLimits | None) -> Explained:
        """Explains pending workloads after the engine's last decision; without limits, all whose reason may
        have changed."""
        self._note_decision(engine, now_ms)
        # A reason that became untrue is as urgent as a new one, and comes after those of new workloads.
        urgent = dict.fromkeys((*self._new, *self._untrue))
        new = list(urgent if limits is None else islice(urgent, limits.new))
        for key in new:
            self._new.pop(key, None)
        again = list(self._outdated_keys(now_ms, limits))
        selected = dict.fromkeys((*new, *again))
        for key in selected:
            self._untrue.pop(key, None)
        explained = {waiting.workload: waiting for waiting in engine.waiting(now_ms, selected)}
        for key in selected:
            self._drop(key)
            if key in explained:
                for other in explained[key].others:
                    self._naming.setdefault(other, {})[key] = None
                self._by_workload[key] = _Explanation(explained[key], now_ms, self._decision)
                self._due.set(key, explained[key].until_ms)
        self._changed = self._changed or bool(explained)
        return Explained(
            frozenset(explained), len(new), len(again), bool(self._new or self._untrue), self._again_ms()
        )

    def _note_decision(self, engine: core.Engine, now_ms: int) -> None:
        self._decision += 1
        due = (*engine.newly_waiting, *self._due.take_due(now_ms))
        new = dict.fromkeys(key for key in due if not is_surplus(key))
        if self._is_renewed:
            new = dict.fromkeys(key for key in new if key not in self._by_workload)
        if self._is_renewed or next(engine.affected(), None) is not None:
            self._outdated, self._is_renewed = self._decision, False
        self._new |= new

    def _outdated_keys(self, now_ms: int, limits: ExplanationLimits | None) -> Iterator[str]:
        """Yields the workloads whose explanation is due for a refresh, the oldest first."""
        for key, explanation in islice(self._by_workload.items(), None if limits is None else limits.again):
            recent = limits is not None and 0 <= now_ms - explanation.at_ms < AGAIN_INTERVAL_MS
            if explanation.decision >= self._outdated or recent:
                return
            yield key

    def _again_ms(self) -> int | None:
        oldest = next(iter(self._by_workload.values()), None)
        if oldest is None or oldest.decision >= self._outdated:
            return None
        return oldest.at_ms + AGAIN_INTERVAL_MS
