"""The range of a growth: its clause, its annotation, and whether it has moved."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from muster.cluster.cluster_state import ClusterState
from muster.forecast.growth_estimates import GrowthEstimate
from muster.forecast.start_estimates import StartEstimate
from muster.live.eta.growth_range import (
    GrowthRange,
    annotation,
    announced_growth,
    current_growth,
    growth_ranges,
    have_moved,
)
from muster.live.eta.start_range import StartRange
from muster.objects.kueue import Workload
from muster.objects.names import GROWTH_ETA_ANNOTATION
from tests.unit.controller.builders import NOW_MS, Body
from tests.unit.live.builders import cluster
from tests.unit.live.elastic import LIMITED, objects, running_elastic

MINUTE_MS = 60_000
DAY = 24 * 60


def after(*minutes: float | None, granted: int = 8, workers: int = 2, group: str = "gpu") -> GrowthRange:
    p10_ms, p50_ms, p90_ms = (None if m is None else NOW_MS + round(MINUTE_MS * m) for m in minutes)
    return GrowthRange(group, granted, workers, StartRange(NOW_MS, p10_ms, p50_ms, p90_ms, 20))


REQUESTED = replace(after(5, 20, 70, granted=0), request="scaled-growth-gpu-1")


@pytest.mark.parametrize(
    ("growth", "clause"),
    [
        pytest.param(after(5, 20, 70), "2 more expected about 08:20 UTC (08:05 to 09:10)", id="a range"),
        pytest.param(after(20, 20, 20), "2 more expected about 08:20 UTC", id="certain"),
        pytest.param(after(20, 20, None), "2 more expected about 08:20 UTC (08:20 to later)", id="no end"),
        pytest.param(
            after(5, 20, 2 * DAY),
            "2 more expected about 08:20 UTC (08:05 to 2027-01-17 08:00)",
            id="with a date",
        ),
        pytest.param(after(5, None, None), "", id="beyond the horizon"),
        pytest.param(after(-9, -5, 20), "", id="it should have grown"),
        pytest.param(after(None, None, None, workers=0), "", id="it grows in no future"),
    ],
)
def test_clause_about_the_expected_growth(growth: GrowthRange, clause: str) -> None:
    assert growth.sentence(NOW_MS) == clause


def test_ranges_of_estimates() -> None:
    times_ms = [NOW_MS + MINUTE_MS * minute for minute in range(1, 20)]
    estimate = GrowthEstimate("gpu", 8, 2, StartEstimate(NOW_MS, times_ms, {}))
    (growth,) = growth_ranges([estimate])
    assert growth == GrowthRange(
        "gpu", 8, 2, StartRange(NOW_MS, NOW_MS + 120_000, NOW_MS + 600_000, NOW_MS + 1_080_000, 19)
    )


@pytest.mark.parametrize(
    ("before", "now", "moved"),
    [
        ([after(10, 20, 30)], [after(10, 20, 30)], False),
        ([after(10, 20, 30)], [after(10, 40, 50)], True),
        ([after(10, 20, 30)], [after(10, 20, 30, workers=1)], True),
        ([after(10, 20, 30)], [after(10, 20, 30, granted=9)], True),
        ([after(10, 20, 30)], [after(10, 20, 30, group="cpu")], True),
        ([after(10, 20, 30)], [replace(after(10, 20, 30), request="r-1")], True),
        ([], [after(10, 20, 30)], True),
    ],
)
def test_estimates_have_moved_if_a_reader_would_notice(
    before: Sequence[GrowthRange], now: Sequence[GrowthRange], moved: bool
) -> None:
    assert have_moved(now, before) is moved


def job_with(text: str | None, workload: Body | None = None) -> tuple[Workload, ClusterState]:
    kinds_of: dict[str, Any] = objects()
    (job,) = kinds_of["RAY_JOBS"]
    job["metadata"]["annotations"] = {} if text is None else {GROWTH_ETA_ANNOTATION: text}
    there = cluster(running_elastic() if workload is None else workload, **kinds_of)
    return next(iter(there.workloads.values())), there


def announced(text: str | None) -> Sequence[GrowthRange]:
    return announced_growth(*job_with(text))


@pytest.mark.parametrize(
    ("growth", "message", "is_current"),
    [
        pytest.param(after(5, 20, 70, granted=2), LIMITED, True, id="its size"),
        pytest.param(after(5, 20, 70, granted=1), LIMITED, False, id="it has grown since"),
        pytest.param(
            REQUESTED, f"the next 2 wait for ProvisioningRequest {REQUESTED.request}", True, id="nodes"
        ),
        pytest.param(REQUESTED, LIMITED, False, id="it has its nodes"),
        pytest.param(REQUESTED, None, False, id="it has its nodes, and more fits"),
    ],
)
def test_an_estimate_is_of_the_present_size(
    growth: GrowthRange, message: str | None, is_current: bool
) -> None:
    workload = running_elastic(granted=2, limited=message is not None)
    for condition in workload["status"]["conditions"]:
        if condition["type"] == "GrowthLimited":
            condition["message"] = message
    assert current_growth(*job_with(annotation([growth]), workload)) == ((growth,) if is_current else ())


def test_annotation_is_read_as_it_was_written() -> None:
    growth = (after(5, 20, 70), after(5, None, None, group="cpu"), REQUESTED)
    assert announced(annotation(growth)) == growth


@pytest.mark.parametrize(
    "text", [None, "soon", "{}", "[{}]", '[{"group": "gpu", "granted": 1, "workers": 1, "at": "noon"}]']
)
def test_an_annotation_that_is_no_estimate_is_ignored(text: str | None) -> None:
    assert announced(text) == ()
