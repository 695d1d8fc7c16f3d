"""Tests when the controller is under load."""

import pytest

from muster.controller.pacing.rates import CALM_MS, CHANGES_BURST, CHANGES_PER_S, Load

Pass = tuple[int, bool, int]
"""The time of a pass, whether its writes were important, and the number of external changes."""

PASSES: dict[str, tuple[list[Pass], int]] = {
    "no pass": ([], 0),
    "a pass that writes nothing important": ([(10, False, 0)], 0),
    "something important": ([(10, True, 0)], 10 + CALM_MS),
    "calm since something important": ([(10, True, 0), (5000, False, 0)], 10 + CALM_MS),
    "a burst of changes": ([(10, False, CHANGES_BURST)], 0),
    "more than a burst": ([(10, False, CHANGES_BURST + 1)], 10 + CALM_MS),
    "as many changes a second as usual": (
        [(s * 1000, False, CHANGES_PER_S) for s in range(1, 100)],
        0,
    ),
    "more changes a second": ([(s * 1000, False, 2 * CHANGES_PER_S) for s in range(1, 11)], 10_000 + CALM_MS),
    "soon forgotten": ([(10, False, 50_000), (60_000, False, CHANGES_BURST)], 10 + CALM_MS),
    "fewer changes than were written": ([(10, False, -50), (11, False, CHANGES_BURST)], 0),
}


@pytest.mark.parametrize("name", PASSES)
def test_load_lasts_until(name: str) -> None:
    passes, calm_ms = PASSES[name]
    load = Load()
    for at_ms, busy, changes in passes:
        load.record(at_ms, busy=busy, changes=changes)
    assert load.calm_ms == calm_ms
