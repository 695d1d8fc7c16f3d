"""Shortens a failing history: delta debugging of its actions, then fewer faults.

Source of the algorithm: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input (ddmin).
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from tests.simulation.histories.history import Action, History
from tests.simulation.histories.play import Failure, play

T = TypeVar("T")
PLAYS_MAX = 400


def minimise(history: History, rule: str, play: Callable[[History], Failure | None] = play) -> History:
    """Returns the shortest history found that breaks the same rule; tries at most PLAYS_MAX."""
    plays = 0

    def breaks(candidate: History) -> bool:
        nonlocal plays
        plays += 1
        failure = play(candidate) if plays <= PLAYS_MAX else None
        return failure is not None and failure.rule == rule

    shortest = ddmin(history.actions, lambda actions: breaks(replace(history, actions=tuple(actions))))
    history = replace(history, actions=tuple(shortest))
    for simplify in (_alone, _calm, _in_whole_seconds):
        simpler = simplify(history)
        if simpler != history and breaks(simpler):
            history = simpler
    return history


def ddmin(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    """Returns a minimal failing subset of the items, in order; all items together fail."""
    parts = 2
    while len(items) >= 2:
        size = -(-len(items) // parts)
        chunks = [(at, min(at + size, len(items))) for at in range(0, len(items), size)]
        for start, end in chunks:
            fewer = [*items[:start], *items[end:]]
            if fails(fewer):
                items, parts = fewer, max(parts - 1, 2)
                break
        else:
            if parts >= len(items):
                break
            parts = min(parts * 2, len(items))
    return items


def _alone(history: History) -> History:
    return replace(history, replicas=1)


def _calm(history: History) -> History:
    return replace(history, faults="calm")


def _in_whole_seconds(history: History) -> History:
    return replace(history, actions=tuple(_whole(action) for action in history.actions))


def _whole(action: Action) -> Action:
    return replace(action, after_s=float(round(action.after_s)) or 0.1)
