"""Shrinks histories on which Kueue and the core differ."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tests.conformance.differential.found import Found
from tests.conformance.differential.scenario import Scenario
from tests.conformance.differential.stage import Play

ROUNDS_MAX = 6

Compare = Callable[[Sequence[Scenario]], Iterable["Disagreement"]]
"""Runs scenarios, and returns the ones on which Kueue and the core differ."""


@dataclass(frozen=True)
class Disagreement:
    scenario: Scenario
    step: int
    recording: Found
    differences: tuple[str, ...]


def differing(play: Play, of: Scenario) -> Disagreement | None:
    """Returns the first step that the core decides differently from the same objects, or None."""
    for index, (before, theirs) in enumerate(zip(play.before, play.outcomes, strict=True)):
        disagreement = Found(of.name, of.mode, before.objects, before.workloads, theirs)
        differences = _differences(disagreement)
        if differences:
            return Disagreement(of, index, disagreement, tuple(differences))
    return None


def _differences(disagreement: Found) -> list[str]:
    """Returns the core's differences; an exception in it is one, as Kueue has decided."""
    try:
        return disagreement.differences()
    except Exception as error:
        return [f"Muster fails: {type(error).__name__}: {error}"]


def shrunk(disagreements: Sequence[Disagreement], compare: Compare) -> list[Disagreement]:
    """Returns each without the steps and objects that the difference does not need.

    A round runs smaller copies of all of them together, and continues with the smallest that differ, until
    there are none, or for ROUNDS_MAX rounds.
    """
    smallest = {disagreement.scenario.name: disagreement for disagreement in disagreements}
    growing = list(smallest.values())
    for _ in range(ROUNDS_MAX):
        candidates = [
            s for disagreement in growing for s in disagreement.scenario.until(disagreement.step).smaller()
        ]
        if not candidates:
            break
        better: dict[str, Disagreement] = {}
        for disagreement in compare(candidates):
            name = disagreement.scenario.name
            if name not in better or _size(disagreement) < _size(better[name]):
                better[name] = disagreement
        smallest |= better
        growing = list(better.values())
    return list(smallest.values())


def _size(of: Disagreement) -> int:
    return of.step + 1 + len(of.scenario.objects)
