"""Backtests: states of the past without later events, and the coverage of estimates."""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from muster.cli import main
from muster.forecast.backtest.coverage import EstimateGroup, coverage_by_group
from muster.forecast.backtest.inferred_queues import inferred_queues
from muster.forecast.backtest.moment import jobs_until, key_of, moment
from muster.forecast.backtest.past_run import PastRun, recorded, replayed
from muster.forecast.backtest.rolling import Backtest, PastEstimate, backtested
from muster.forecast.futures import SimulationInputs
from muster.forecast.learning.learned import Learned
from muster.forecast.learning.past_job import PastJob
from muster.forecast.start_estimates import estimated_start
from muster.forecast.traces.trace import TraceJob
from muster.journal.record import VERSION, JournalRecord, PodSetRecord, WorkloadOutcome, write
from tests.unit.forecast.builders import (
    AT_ONCE,
    GPU,
    autoscaled,
    cancelled,
    configured,
    flavor,
    job,
    placed,
    queue,
)

pytestmark = pytest.mark.slow

TWO_GPUS = configured(queue("a", 2))
TRACE = [
    job("first", 0, 100, gpus=2, limit_ms=500_000),
    job("second", 10, 50, gpus=2),
    cancelled("third", 20, 30),
    job("fourth", 300, 10, gpus=1),
]


def run_of(trace: list[TraceJob]) -> PastRun:
    return replayed(SimulationInputs(TWO_GPUS, placed(TWO_GPUS, trace), AT_ONCE), trace)


RUN = run_of(TRACE)

KNOWN: dict[int, list[tuple[str, int | None, int | None, int | None]]] = {
    5: [("first", None, 0, None)],
    30: [("first", None, 0, None), ("second", None, None, None), ("third", None, None, None)],
    60: [("first", None, 0, None), ("second", None, None, None), ("third", None, None, 30)],
    120: [("first", 100, 0, None), ("second", None, 90, None), ("third", None, None, 30)],
    200: [("first", 100, 0, None), ("second", 50, 90, None), ("third", None, None, 30)],
}


@pytest.mark.parametrize("at_s", KNOWN)
def test_record_has_only_what_had_happened(at_s: int) -> None:
    """Jobs with their run time, wait and cancellation in seconds, as far as each had happened."""
    jobs = [
        (
            past.job.name,
            *(
                None if time_ms is None else time_ms // 1000
                for time_ms in (past.job.run_ms, past.waited_ms, past.job.cancelled_ms)
            ),
        )
        for past in jobs_until(RUN, 1000 * at_s)
    ]
    assert jobs == KNOWN[at_s]


@pytest.mark.parametrize(
    ("at_s", "waiting", "holding"),
    [(5, [], [0]), (30, [1, 2], [0]), (60, [1], [0]), (120, [], [1]), (200, [], []), (305, [], [3])],
)
def test_state_has_the_jobs_that_wait_or_hold_quota(
    at_s: int, waiting: list[int], holding: list[int]
) -> None:
    state = moment(RUN, TWO_GPUS, Learned(), 1000 * at_s)
    pending = [key for key, live in state.workloads.items() if live.workload.admission is None]
    assert pending == [key_of(number) for number in waiting]
    assert [key for key in state.workloads if key not in pending] == [key_of(n) for n in holding]


def test_recorded_jobs_get_quota_that_the_record_does_not_name() -> None:
    trace = [replace(TRACE[0], waited_ms=2_000, start_up_ms=3_000), replace(TRACE[1], waited_ms=95_000)]
    run = recorded(placed(TWO_GPUS, trace), trace)
    assert (run.start_ms(0), run.start_ms(1)) == (5_000, 105_000)
    state = moment(run, TWO_GPUS, Learned(), 50_000)
    assert state.workloads[key_of(0)].workload.admission is not None
    assert state.workloads[key_of(0)].ready_ms == 5_000
    assert state.workloads[key_of(1)].workload.admission is None


EIGHT_GPUS = configured(queue("a", 8))
# It asks for six workers once it runs, gets the last ones 50 s later, and two of them go after 100 s.
SCALED = autoscaled("scaled", 0, 500, (0, 6, 2), (10, 6, 4), (50, 6, 6), (100, 4, 4), least=2)
RECORDED_SCALED = replace(SCALED, waited_ms=5_000, start_up_ms=15_000)
OTHERS = [job("first", 0, 70, gpus=2), job("second", 0, 110, gpus=2)]

SIZES: dict[str, tuple[list[TraceJob], bool, dict[float, tuple[int, int]]]] = {
    "as recorded": (
        [RECORDED_SCALED],
        True,
        {10: (2, 6), 25: (2, 6), 35: (4, 6), 69: (4, 6), 71: (6, 6), 130: (4, 4)},
    ),
    "as replayed": (
        [*OTHERS, autoscaled("scaled", 1, 500, (0, 8), (150, 3), least=2)],
        False,
        {2: (4, 8), 69: (4, 8), 71: (6, 8), 120: (8, 8), 160: (3, 3)},
    ),
    "only the demand is recorded": (
        [replace(autoscaled("scaled", 0, 500, (0, 6), least=2), waited_ms=5_000)],
        True,
        {60: (2, 6)},
    ),
    "as much as its quota allows": (
        [replace(job("other", 0, 900, gpus=3), waited_ms=0), RECORDED_SCALED],
        True,
        {75: (5, 6)},
    ),
}


@pytest.mark.parametrize("name", SIZES)
def test_autoscaled_jobs_have_their_size_of_the_moment(name: str) -> None:
    """Workers that hold quota, and that they ask for, by seconds."""
    trace, is_recorded, expected = SIZES[name]
    jobs = placed(EIGHT_GPUS, trace)
    inputs = SimulationInputs(EIGHT_GPUS, jobs, AT_ONCE)
    run = recorded(jobs, trace) if is_recorded else replayed(inputs, trace)
    key = key_of(next(n for n, past in enumerate(run.jobs) if past.job.name == "scaled"))
    sizes = {}
    for at_s in expected:
        live = moment(run, EIGHT_GPUS, Learned(), round(1000 * at_s)).workloads[key]
        assert live.workload.admission is not None
        (held,), (pods,) = live.workload.admission.pod_sets, live.workload.pod_sets
        assert held.count == pods.count == held.usage[GPU]
        sizes[at_s] = held.count, live.groups["gpu"].asked
    assert sizes == expected


def test_a_gang_waits_for_the_workers_of_an_autoscaled_job() -> None:
    """At its minimum, it would leave the quota free for which the gang waits."""
    late = replace(job("late", 80, 10, gpus=4), waited_ms=40_000)
    trace = [RECORDED_SCALED, late]
    run = recorded(placed(EIGHT_GPUS, trace), trace)
    state = moment(run, EIGHT_GPUS, Learned(), 80_000)
    (start_ms,) = estimated_start(state, key_of(1), AT_ONCE, [0]).starts_ms
    assert start_ms is None or start_ms > 80_000


def test_estimates_do_not_depend_on_the_future() -> None:
    """Later jobs, and longer runs and waits after the estimate, do not change it."""
    late, period_ms = 16, 300_000
    jobs = [job(f"j{n}", 60 * n, 50 + 5 * (n % 7), gpus=2) for n in range(late + 6)]
    changed = [*jobs[:late], *(job(f"k{n}", 60 * n, 2_000, gpus=2) for n in range(late, late + 20))]
    before, after = (
        {
            (e.at_ms, e.of_job.job.name): (e.p10_ms, e.p50_ms, e.p90_ms)
            for e in backtested(Backtest(run_of(of), TWO_GPUS, range(2), period_ms, 100))
            if e.at_ms < 60_000 * late
        }
        for of in (jobs, changed)
    )
    assert len(before) > 10
    assert before.items() <= after.items()


def estimate(start_s: float, *band_s: float | None, age_s: float = 0, of: str = "a") -> PastEstimate:
    """An estimate at second 1,000, with the median between its bounds."""
    (target,) = placed(configured(queue("a", 2), queue("b", 2)), [job("j", 1_000 - age_s, 1, queue=of)])
    low, median, high = (None if s is None else round(1000 * s) for s in band_s)
    return PastEstimate(PastJob(target), 1_000_000, low, median, high, round(1000 * start_s))


@dataclass(frozen=True)
class Case:
    estimates: list[PastEstimate]
    within: float
    before: int
    after: int
    bias_s: float


COVERED: dict[str, Case] = {
    "within": Case([estimate(1_100, 1_050, 1_120, 1_200)], 1.0, 0, 0, 20),
    "before": Case([estimate(1_049, 1_050, 1_120, 1_200)], 0.0, 1, 0, 71),
    "after": Case([estimate(1_201, 1_050, 1_120, 1_200)], 0.0, 0, 1, -81),
    "within the second of a bound": Case([estimate(1_200.4, 1_050, 1_120, 1_200)], 1.0, 0, 0, -80.4),
    "without an upper bound": Case([estimate(9_000, 1_050, None, None)], 1.0, 0, 0, 0),
    "not expected at all": Case([estimate(9_000, None, None, None)], 0.0, 1, 0, 0),
    "a mixture": Case(
        [estimate(1_100, 1_050, 1_120, 1_200), estimate(1_300, 1_050, 1_120, 1_200)], 0.5, 0, 1, -80
    ),
}


@pytest.mark.parametrize("name", COVERED)
def test_coverage_and_bias(name: str) -> None:
    case = COVERED[name]
    coverage = coverage_by_group(case.estimates)[EstimateGroup()]
    assert (coverage.within, coverage.before, coverage.after) == (case.within, case.before, case.after)
    assert coverage.bias_s == pytest.approx(case.bias_s)


def test_groups_are_queues_sizes_and_ages() -> None:
    groups = coverage_by_group(
        [estimate(1_100, 1_050, 1_120, 1_200), estimate(1_100, 1_050, 1_120, 1_200, age_s=900, of="b")]
    )
    assert {group: coverage.estimates for group, coverage in groups.items()} == {
        EstimateGroup(): 2,
        EstimateGroup(age="at submission"): 1,
        EstimateGroup(age="up to 1h"): 1,
        EstimateGroup("a"): 1,
        EstimateGroup("a", size="1"): 1,
        EstimateGroup("b"): 1,
        EstimateGroup("b", size="1"): 1,
    }


def files(folder: Path) -> list[str]:
    """Writes a queue and a trace; returns the arguments that name them."""
    (folder / "queues.yaml").write_text(yaml.safe_dump_all([flavor(), queue("a", 2)]))
    rows = "".join(f"j{n},{60 * n},{50 + 5 * (n % 7)},1,a,,ann,0,0,2,0\n" for n in range(40))
    columns = "name,submit_seconds,run_seconds,pods,queue,priority_class,user,cpu,memory,nvidia.com/gpu"
    (folder / "trace.csv").write_text(f"{columns},google.com/tpu\n{rows}")
    return ["--queues", str(folder / "queues.yaml"), "--trace", str(folder / "trace.csv"), "--seeds", "3"]


def test_backtest_prints_coverage_and_fails_below_its_minimum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["backtest", *files(tmp_path), "--samples", "4"]
    page = tmp_path / "page.html"
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    every = document["groups"][0]
    assert (document["jobs"], every["queue"], every["age"]) == (40, None, None)
    percent = 100 * every["within"]
    assert main([*arguments, "--min-coverage", f"{percent}", "--html", str(page)]) == 0
    assert "starts are between the 10th and 90th percentile" in capsys.readouterr().out
    assert page.read_text().count("<svg") == len(document["groups"])
    assert main([*arguments, "--min-coverage", f"{min(100, percent + 0.1)}"]) == (0 if percent == 100 else 3)


def test_backtest_of_a_single_period_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backtest", *files(tmp_path), "--period-days", "7"]) == 2
    assert "no job starts after the first period; give a shorter --period-days" in capsys.readouterr().err


def journal_of(folder: Path) -> Path:
    """Writes a journal of jobs that ran one after the other."""
    begun = datetime(2026, 11, 1, 9, tzinfo=UTC)
    lines = []
    for number in range(24):
        created, started = (begun + timedelta(seconds=s) for s in (90 * number, 100 * number + 5))
        lines.append(
            write(
                JournalRecord(
                    version=VERSION,
                    uid=f"u{number}",
                    namespace="team-a",
                    name=f"j{number}",
                    kind="RayJob",
                    pod_sets=(PodSetRecord(name="gpu", count=2, requests={GPU: "1"}),),
                    created_at=created,
                    admitted_at=started,
                    started_at=started + timedelta(seconds=2),
                    finished_at=started + timedelta(seconds=80 + number % 15),
                    outcome=WorkloadOutcome.SUCCEEDED,
                    queue="team-a",
                )
            )
        )
    folder.mkdir()
    (folder / "2026-11-01.pod.0001.jsonl").write_bytes(b"".join(lines))
    return folder


def test_journal_needs_no_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Uses the recorded starts; the queue has the two GPUs that its jobs used at most."""
    folder = journal_of(tmp_path / "journal")
    assert main(["backtest", "--trace", str(folder), "--samples", "4", "--seeds", "9", "--json"]) == 0
    captured = capsys.readouterr()
    assert "each queue has the quota that its jobs used at most" in captured.err
    groups = json.loads(captured.out)["groups"]
    assert [group["queue"] for group in groups if group["queue"]] == ["team-a", "team-a"]
    assert groups[0]["within"] >= 0.5


def test_trace_without_waits_needs_a_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = files(tmp_path)[2:]
    assert main(["backtest", *arguments]) == 2
    assert "records no waits: give the queues with --stack NAME" in capsys.readouterr().err


def test_inferred_quota_is_the_highest_usage() -> None:
    jobs = [
        job("one", 0, 100, gpus=2, waited_ms=0),
        job("two", 50, 100, gpus=3, waited_ms=0),
        job("three", 60, 100, gpus=4, waited_ms=90_000),  # starts as `two` ends
        job("other", 60, 100, gpus=8, queue="b"),  # never started
    ]
    _, of_queue = inferred_queues(jobs)
    (group,) = of_queue["spec"]["resourceGroups"]
    assert group["flavors"][0]["resources"] == [{"name": GPU, "nominalQuota": "5"}]


def test_an_inferred_queue_has_the_workers_that_autoscaled_jobs_had() -> None:
    """Six from second 70 until 120, and two of the other job from second 90."""
    (_, of_queue) = inferred_queues([RECORDED_SCALED, job("two", 0, 200, gpus=2, waited_ms=90_000)])
    (group,) = of_queue["spec"]["resourceGroups"]
    assert group["flavors"][0]["resources"] == [{"name": GPU, "nominalQuota": "8"}]
