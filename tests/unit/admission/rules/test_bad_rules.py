"""Rules that make no sense are refused before anything is decided."""

from dataclasses import replace

import pytest

from muster.admission import Aging, Budget, Rules, Snapshot, SnapshotError, check_quotas, decide
from muster.admission.wait_note import duration
from tests.unit.admission.builders import GPU, NOW_MS, cohort, queue, snapshot, workload

EMPTY = snapshot(())

CASES: dict[str, tuple[Snapshot, Rules, str]] = {
    "a period of no time": (EMPTY, Rules(aging=Aging(1, 0, 1)), "Rules: aging: is Aging"),
    "a negative boost": (EMPTY, Rules(aging=Aging(-1, 1, 1)), "Rules: aging: is Aging"),
    "a limit below": (EMPTY, Rules(aging=Aging(1, 1, -1)), "Rules: aging: is Aging"),
    "a minimum below 0": (
        EMPTY,
        Rules(run_time_ms_min=-1),
        "Rules: run_time_ms_min: is -1; expected 0 or more",
    ),
    "a budget below 0": (
        snapshot(queue("q", 1, budgets=(Budget(GPU, -1, 1),))),
        Rules(),
        f"ClusterQueue q: budget of {GPU}: is -1; expected 0 or more",
    ),
    "a budget of no period": (
        snapshot(queue("q", 1, budgets=(Budget(GPU, 1, 0),))),
        Rules(),
        f"ClusterQueue q: budget of {GPU}: has a period of 0 ms; expected more than 0",
    ),
    "a run time of nothing": (
        snapshot(queue("q", 1), workload("w", "q", 1, run_time_ms=0)),
        Rules(),
        "Workload ns/w: run_time_ms: is 0; expected more than 0",
    ),
    "a queue's minimum below 0": (
        snapshot(queue("q", 1, run_time_ms_min=-1)),
        Rules(),
        "ClusterQueue q: run_time_ms_min: is -1; expected 0 or more",
    ),
}


@pytest.mark.parametrize(("of", "rules", "problem"), CASES.values(), ids=CASES)
def test_it_is_refused(of: Snapshot, rules: Rules, problem: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        decide(of, NOW_MS, rules)
    assert str(caught.value).startswith(problem)


SOUND: dict[str, tuple[Snapshot, Rules]] = {
    "aging that raises nothing": (EMPTY, Rules(aging=Aging(0, 1, 0))),
    "no minimum": (snapshot(queue("q", 1, run_time_ms_min=0)), Rules(run_time_ms_min=0)),
    "a budget of nothing": (snapshot(queue("q", 1, budgets=(Budget(GPU, 0, 1),))), Rules()),
}


@pytest.mark.parametrize(("of", "rules"), SOUND.values(), ids=SOUND)
def test_the_least_that_makes_sense(of: Snapshot, rules: Rules) -> None:
    decide(of, NOW_MS, rules)


def test_budgets_of_cohorts_too() -> None:
    with pytest.raises(SnapshotError, match="Cohort c: budget of"):
        check_quotas(replace(cohort("c"), budgets=(Budget(GPU, 1, -1),)))


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0 ms"), (1, "1 ms"), (90_000, "90 s"), (120_000, "2 min"), (7_200_000, "2 h"), (86_400_000, "1 d")],
)
def test_durations_are_told_in_whole_units(ms: int, text: str) -> None:
    assert duration(ms) == text
