"""Estimates with the starts that followed, from which later estimates learn."""

from dataclasses import replace

from muster.forecast.estimate_outcome import EstimateOutcome, SimulatedWait
from muster.live.eta.estimate_log import EstimateLog
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import NOW_MS
from tests.unit.live.builders import cluster, finished, running, waiting

MINUTE_MS = 60_000
DEV = ray_job("dev")
UID: str = running(DEV)["metadata"]["uid"]
SIMULATED = SimulatedWait(0, MINUTE_MS, 2 * MINUTE_MS, 3 * MINUTE_MS)


def minutes_ago(minutes: float, age_ms: int = 0) -> tuple[int, SimulatedWait]:
    return NOW_MS - round(minutes * MINUTE_MS), replace(SIMULATED, age_ms=age_ms)


def logged(*estimates: tuple[int, SimulatedWait]) -> EstimateLog:
    log = EstimateLog()
    for at_ms, simulated in estimates:
        log.estimated(at_ms, {UID: simulated})
    return log


def outcome(minutes_ago: float, wait_min: float, *, started: bool, age_ms: int = 0) -> EstimateOutcome:
    at_ms, simulated = NOW_MS - round(minutes_ago * MINUTE_MS), replace(SIMULATED, age_ms=age_ms)
    return EstimateOutcome(at_ms, simulated, round(wait_min * MINUTE_MS), started)


def test_job_that_waits_has_not_started_until_now() -> None:
    log = logged(minutes_ago(15))
    log.passed(cluster(waiting(DEV)))
    assert log.outcomes(NOW_MS) == (outcome(15, 15, started=False),)
    assert log.of(UID) == ()


def test_start_is_that_of_the_gang() -> None:
    log = logged(minutes_ago(15))
    log.passed(cluster(running(DEV, 600)))
    assert log.outcomes(NOW_MS) == log.of(UID) == (outcome(15, 5, started=True),)


def test_first_estimate_of_each_age_counts() -> None:
    log = logged(
        minutes_ago(15), minutes_ago(14.9), minutes_ago(12, 3 * MINUTE_MS), minutes_ago(11, 4 * MINUTE_MS)
    )
    log.passed(cluster(running(DEV, 600)))
    assert log.of(UID) == (
        outcome(15, 5, started=True),
        outcome(12, 2, started=True, age_ms=3 * MINUTE_MS),
    )


def test_gang_that_starts_again_keeps_its_first_start() -> None:
    log = logged(minutes_ago(30))
    log.passed(cluster(running(DEV, 1_200)))
    log.passed(cluster(waiting(DEV)))
    log.estimated(NOW_MS - 15 * MINUTE_MS, {UID: SIMULATED})
    log.passed(cluster(running(DEV, 600)))
    assert log.of(UID) == (outcome(30, 10, started=True), outcome(15, 5, started=True))


def test_gang_that_ends_before_the_next_pass_has_started() -> None:
    log = logged(minutes_ago(80))
    log.passed(cluster(finished(DEV, ran_s=600, ago_s=3_600)))
    assert log.of(UID) == (outcome(80, 10, started=True),)


def test_job_that_ends_without_a_start_is_forgotten() -> None:
    body = finished(DEV)
    conditions = body["status"]["conditions"]
    body["status"]["conditions"] = [of for of in conditions if of["type"] != "PodsReady"]
    log = logged(minutes_ago(80))
    log.passed(cluster(body))
    assert log.outcomes(NOW_MS) == ()


def test_deleted_workload_is_forgotten_after_the_pass() -> None:
    log = logged(minutes_ago(15))
    log.passed(cluster(running(DEV, 600)))
    log.passed(cluster())
    assert len(log.of(UID)) == 1
    log.forget_deleted(cluster())
    assert log.outcomes(NOW_MS) == log.of(UID) == ()
