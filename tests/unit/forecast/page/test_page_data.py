"""The page's data: what a browser decodes is what was simulated."""

from dataclasses import replace
from itertools import groupby

import pytest

from muster.forecast.page import ForecastSide
from muster.forecast.page.page import page_text
from muster.forecast.results.outcome import End, SimulationOutcome
from tests.unit.forecast.page.decoded import Data, decoded
from tests.unit.forecast.page.outcomes import HOUR_MS, Job, Try, outcome, sides, synthetic

Attempt = tuple[int, int, int, int]


def _written(*outcomes: SimulationOutcome) -> Data:
    return decoded(page_text([ForecastSide(f"side {at}", [outcome]) for at, outcome in enumerate(outcomes)]))


def _attempts(shown: SimulationOutcome, tick_ms: int) -> dict[int, list[Attempt]]:
    """Returns the attempts of each job by its number in the trace, in ticks and by time."""
    columns = shown.attempts
    rows = sorted(
        zip(columns.job, columns.reserved_ms, columns.started_ms, columns.ended_ms, columns.end, strict=True)
    )
    return {
        shown.jobs[job].number: [
            (reserved // tick_ms, -1 if started < 0 else started // tick_ms, ended // tick_ms, end)
            for _, reserved, started, ended, end in attempt_rows
        ]
        for job, attempt_rows in groupby(rows, key=lambda row: row[0])
    }


@pytest.mark.parametrize(
    ("shown", "tick_ms"),
    [
        pytest.param([synthetic(500, days=2)], 1_000, id="seconds-for-days"),
        pytest.param([synthetic(200, days=0.03)], 1, id="milliseconds-below-an-hour"),
        pytest.param([side.drawn for side in sides(500, days=2)], 1_000, id="two-sides"),
        pytest.param([outcome([])], 1_000, id="no-jobs"),
    ],
)
def test_jobs_and_attempts_are_read_back(shown: list[SimulationOutcome], tick_ms: int) -> None:
    data = _written(*shown)
    assert data.header["tick_ms"] == tick_ms
    assert data.names() == [job.name for job in shown[0].jobs]
    assert data.submits() == [job.submit_ms // tick_ms for job in shown[0].jobs]
    queues = data.header["queues"]
    assert isinstance(queues, list)
    for number, side in enumerate(shown):
        assert [queues[index - 1] for index in data.of_jobs(number, "queue")] == [
            job.queue for job in side.jobs
        ]
        assert data.of_jobs(number, "pods") == [job.pods for job in side.jobs]
        assert data.of_jobs(number, "accelerators") == [job.accelerators for job in side.jobs]
        expected_attempts = _attempts(side, tick_ms)
        assert data.attempts(number) == [expected_attempts.get(job.number, []) for job in side.jobs]


def test_attempts_are_by_job_and_time_whatever_their_order() -> None:
    first, second = Try(1_000, None, 2_000, End.NOT_PROVISIONED), Try(5_000, 6_000, 9_000)
    shown = outcome([Job("late-first", tries=[second, first]), Job("never")])
    assert _written(shown).attempts(0) == [[(1, -1, 2, End.NOT_PROVISIONED), (5, 6, 9, End.FINISHED)], []]


def test_jobs_of_one_side_only_are_absent_in_the_other() -> None:
    base = outcome([Job("both", 1_000, tries=[Try(2_000, 3_000, 9_000)]), Job("base-only", 2_000)])
    both, only = base.jobs
    changed = replace(base, jobs=[replace(both, queue="b"), replace(only, name="changed-only", number=7)])
    data = _written(base, changed)
    assert data.names() == ["both", "base-only", "changed-only"]
    assert data.of_jobs(0, "queue") == [1, 1, 0]
    assert data.of_jobs(1, "queue") == [2, 0, 1]
    assert data.attempts(1) == [[(2, 3, 9, End.FINISHED)], [], []]


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["tune-0042", "tune-0043", "tune-0007"], id="padded-numbers"),
        pytest.param(["a-9", "a-10", "a-9"], id="numbers-that-grow"),
        pytest.param(["1-2-3", "10-20-30", "x", ""], id="several-numbers"),
        pytest.param(["job-123456789012345", "job-000000000000001"], id="long-numbers"),
        pytest.param(["\x00", "naïve-١٢", "日本-5", "\ud800"], id="not-ascii"),
        pytest.param([f"{n * 7919 % 65521:x}-{n:x}" for n in range(300)], id="hexadecimal"),
    ],
)
def test_names_are_read_back(names: list[str]) -> None:
    shown = outcome([Job(name, submit) for submit, name in enumerate(names)])
    expected = [name.encode("utf-8", "replace").decode() for name in names]
    assert _written(shown).names() == expected


def test_ranges_are_of_all_futures() -> None:
    def used(accelerators: int) -> SimulationOutcome:
        return outcome([Job("job", accelerators=accelerators, tries=[Try(0, 0, HOUR_MS)])])

    side = ForecastSide("futures", [used(accelerators) for accelerators in range(1, 11)])
    data = decoded(page_text([side]))
    low, high = (data.columns[f"0.{name}.0"] for name in ("low", "high"))
    assert (low[0], high[0]) == (10, 90)  # tenths of an accelerator
    assert not any(low[1:] + high[1:])  # the same until the end


def test_usage_of_a_part_is_its_mean_over_time() -> None:
    half = outcome([Job("half", accelerators=8, tries=[Try(0, 0, HOUR_MS // 600)])])
    data = decoded(page_text([ForecastSide("futures", [half, half])]))
    assert data.columns["0.low.0"][:3] == [40, -40, 0]
