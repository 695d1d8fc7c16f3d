"""Errors of estimates, measured when gangs start."""

from dataclasses import dataclass, replace

import pytest

from muster.live.eta.start_errors import Band, StartError, StartErrors
from muster.live.eta.start_range import StartRange
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import NOW_MS
from tests.unit.live.builders import cluster, running, waiting

DEV = ray_job("dev")
LATE_MS = NOW_MS - 630_000
UID = running(DEV)["metadata"]["uid"]


def minutes_ago(*minutes: float | None) -> StartRange:
    p10_ms, p50_ms, p90_ms = (None if m is None else NOW_MS - round(60_000 * m) for m in minutes)
    return StartRange(NOW_MS - 3_600_000, p10_ms, p50_ms, p90_ms, 20)


@dataclass(frozen=True)
class Case:
    """An estimate of a gang that started 10 minutes ago."""

    estimate: StartRange
    band: Band
    error_s: float | None


CASES: dict[str, Case] = {
    "as expected": Case(minutes_ago(20, 10, 5), Band.WITHIN, 0),
    "later": Case(minutes_ago(20, 15, 5), Band.WITHIN, 300),
    "earlier": Case(minutes_ago(20, 5, 1), Band.WITHIN, -300),
    "before its range": Case(minutes_ago(9, 5, 1), Band.BEFORE, -300),
    "in the second in which its range begins": Case(minutes_ago(10 - 0.01, 5, 1), Band.WITHIN, -300),
    "after its range": Case(minutes_ago(30, 20, 11), Band.AFTER, 600),
    "without an upper end": Case(minutes_ago(11, None, None), Band.WITHIN, None),
    "although it was not expected at all": Case(minutes_ago(None, None, None), Band.BEFORE, None),
}


@pytest.mark.parametrize("name", CASES)
def test_start_is_compared_with_the_first_estimate(name: str) -> None:
    case, errors = CASES[name], StartErrors()
    errors.estimated(UID, case.estimate)
    assert errors.started(cluster(waiting(DEV))) == []
    expected = StartError("team-a", "dev-priority", case.band, case.error_s, "10m to 1h")
    assert errors.started(cluster(running(DEV, 600))) == [expected]


def test_latest_estimate_is_compared_as_well() -> None:
    errors = StartErrors()
    for estimated in (
        minutes_ago(9, 5, 1),
        minutes_ago(50, 40, 30),
        replace(minutes_ago(11, 10, 9), at_ms=LATE_MS),
    ):
        errors.estimated(UID, estimated)
    assert [(e.band, e.age, e.is_first) for e in errors.started(cluster(running(DEV, 600)))] == [
        (Band.BEFORE, "10m to 1h", True),
        (Band.WITHIN, "up to 1m", False),
    ]


def test_each_start_is_measured_once() -> None:
    errors = StartErrors()
    errors.estimated(UID, minutes_ago(20, 10, 5))
    assert len(errors.started(cluster(running(DEV, 600)))) == 1
    assert errors.started(cluster(running(DEV, 600))) == []


def test_workloads_that_are_gone_or_had_no_estimate_are_not_measured() -> None:
    errors = StartErrors()
    errors.estimated(UID, minutes_ago(20, 10, 5))
    assert errors.started(cluster()) == []
    assert errors.started(cluster(running(DEV, 600))) == []
