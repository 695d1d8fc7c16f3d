"""The calculation of starts, here and in its own process."""

import asyncio
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as replaced

from muster.cluster.cluster_state import ClusterState
from muster.configuration.configuration import DEFAULT
from muster.forecast.assumptions import Assumptions
from muster.forecast.estimate_outcome import EstimateOutcome, SimulatedWait
from muster.forecast.futures import SEEDS
from muster.forecast.start_estimates import estimated_start
from muster.forecast.traces.journal import read
from muster.journal.files import JournalFiles
from muster.journal.record import VERSION, EstimateRecord, JournalRecord, PodSetRecord, WorkloadOutcome, write
from muster.live.eta.calculation import CalculationError, Question, calculated, estimated, restored, snapshot
from muster.live.eta.start_range import start_range
from muster.live.observed import READ
from muster.live.state import live_state, state_with_trace
from muster.live.workloads import elastic_sizes
from tests.simulation.manifests import GPU, ray_job
from tests.unit.controller.builders import NOW_MS
from tests.unit.live.builders import cluster, finished, running, since, waiting
from tests.unit.live.elastic import objects, running_elastic

DEV, NEW = running(ray_job("dev"), 200), waiting(ray_job("new"))
UID, KEY = NEW["metadata"]["uid"], f"team-a/{NEW['metadata']['name']}"
WAIT_S_MAX = 120.0  # a bound; nothing waits for so long


def question(of: ClusterState, journal: Path | None = None) -> Question:
    return Question(snapshot(of), DEFAULT, NOW_MS, journal)


def past_record(began: datetime, run_s: float) -> JournalRecord:
    return JournalRecord(
        version=VERSION,
        uid="u0",
        namespace="team-a",
        name="past",
        kind="RayJob",
        pod_sets=(PodSetRecord(name="gpu", count=4, requests={GPU: "1"}),),
        created_at=began,
        admitted_at=began,
        started_at=began,
        finished_at=began + timedelta(seconds=run_s),
        outcome=WorkloadOutcome.SUCCEEDED,
        queue="team-a",
    )


def journal_of(folder: Path, run_s: float) -> Path:
    """A journal of jobs that all ran for this long."""
    began = datetime(2026, 11, 22, 9, tzinfo=UTC)
    lines = [write(replaced(past_record(began, run_s), uid=f"u{number}")) for number in range(6)]
    JournalFiles(folder, "pod-1").append(b"".join(lines), NOW_MS)
    return folder


def test_objects_are_the_same_after_the_way_to_the_process() -> None:
    of = cluster(NEW, DEV, finished(ray_job("past")), check=True)
    passed = restored(snapshot(of))
    for kind in READ:
        assert passed.objects(kind) == of.objects(kind)
    assert not passed.pods


def test_starts_are_those_of_muster_eta() -> None:
    of = cluster(NEW, DEV)
    state = live_state(of, DEFAULT, NOW_MS)
    estimate = estimated_start(state, KEY, Assumptions(), range(SEEDS), state.learned.delays)
    assert estimated(question(of)).starts == {UID: start_range(estimate)}


LATE = EstimateOutcome(NOW_MS - 600_000, SimulatedWait(0, 60_000, 120_000, 180_000), 500_000, True)


def test_earlier_estimates_correct_later_ones() -> None:
    """The earlier estimates were too early."""
    alone = question(cluster(NEW, DEV))
    late = tuple(replace(LATE, at_ms=LATE.at_ms + n) for n in range(20))
    answers = [estimated(of) for of in (alone, replace(alone, estimates=late))]
    before, after = (answer.starts[UID] for answer in answers)
    assert before.p50_ms is not None
    assert after.p50_ms is not None
    assert before.p50_ms < after.p50_ms
    assert answers[0].simulated == answers[1].simulated


def test_journal_has_earlier_estimates(tmp_path: Path) -> None:
    """An estimate that the controller remembers as well counts once; those of other jobs in the same round
    count too."""
    of = cluster(NEW, DEV)
    created = datetime.fromtimestamp(LATE.at_ms / 1000, UTC)
    estimate = EstimateRecord(waited=0, p10=60, p50=120, p90=180, actual=500)
    line = write(replaced(past_record(created, 30), estimates=(estimate,))).decode()
    past = read([("a.jsonl", [line])], "a")
    later, longer = replace(LATE, at_ms=LATE.at_ms + 1), replace(LATE, wait_ms=LATE.wait_ms + 60_000)
    for remembered, count in (((), 1), ((LATE,), 1), ((later,), 2), ((longer,), 2), ((later, longer), 3)):
        state = state_with_trace(of, DEFAULT, NOW_MS, past, estimates=remembered)
        assert state.learned.calibration.count == count


def test_workloads_that_run_or_are_over_have_no_start() -> None:
    assert estimated(question(cluster(DEV, finished(ray_job("past"))))).starts == {}


def test_gang_without_pods_still_has_a_start() -> None:
    admitted = running(ray_job("new"))
    admitted["status"]["conditions"] = [since(kind, 5) for kind in ("QuotaReserved", "Admitted")]
    start_times = estimated(question(cluster(admitted))).starts[UID]
    assert start_times.p10_ms is not None
    assert start_times.p50_ms is not None
    assert NOW_MS - 5_000 < start_times.p10_ms < start_times.p50_ms


def test_run_times_are_those_of_the_journal(tmp_path: Path) -> None:
    start_times = estimated(question(cluster(NEW, DEV), journal_of(tmp_path / "journal", 4_000))).starts[UID]
    assert start_times.p50_ms is not None
    assert start_times.p50_ms - NOW_MS == pytest.approx(1000 * (4_000 - 200), rel=0.2)


@pytest.mark.parametrize("exists", [True, False])
def test_journal_without_files_changes_nothing(
    tmp_path: Path, exists: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    of, folder = cluster(NEW, DEV), tmp_path if exists else tmp_path / "missing"
    assert estimated(question(of, folder)).starts == estimated(question(of)).starts
    assert ("cannot read" in capsys.readouterr().err) is not exists


def test_process_of_its_own_gives_the_same_answer() -> None:
    asked = question(cluster(NEW, DEV))
    answer = asyncio.run(calculated(asked, WAIT_S_MAX))
    assert answer.starts == estimated(asked).starts
    assert answer.cpu_s > 0


def test_growth_is_that_of_the_question() -> None:
    """The process has no RayClusters, which show what Ray's autoscaler asks for."""
    other = running(ray_job("dev", workers=2), maximumExecutionTimeSeconds=3_600)
    kinds_of: dict[str, Any] = objects(asked=4)
    of = cluster(running_elastic(granted=2, replicas=2), other, **kinds_of)
    sizes = elastic_sizes(of, NOW_MS)
    asked = replace(question(of), sizes=sizes)
    ((uid, (growth,)),) = estimated(asked).growth.items()
    assert uid == running_elastic()["metadata"]["uid"]
    assert (growth.group, growth.granted, growth.workers) == ("gpu", 2, 2)
    ((limited,),) = estimated(question(of)).growth.values()
    assert limited.workers == 1, "by its manifest it is at its limit"


def test_process_that_fails_gives_no_answer(capfd: pytest.CaptureFixture[str]) -> None:
    asked = replace(question(cluster(NEW)), objects={"workloads": b"no JSON"})
    with pytest.raises(CalculationError, match="the process ended with 1"):
        asyncio.run(calculated(asked, WAIT_S_MAX))
    assert "Traceback" in capfd.readouterr().err


def test_process_that_takes_too_long_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sleeper = tmp_path / "sleeper"
    sleeper.write_text("#!/bin/sh\nexec sleep 600\n")
    sleeper.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(sleeper))
    with pytest.raises(CalculationError, match="no answer within 0 s"):
        asyncio.run(calculated(question(cluster(NEW)), 0.1))
