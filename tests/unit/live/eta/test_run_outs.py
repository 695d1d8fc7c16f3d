"""The estimated times at which budgets are used up: calculated, announced, and read."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from muster.cluster.cluster_state import ClusterState
from muster.configuration.configuration import DEFAULT
from muster.kube import kinds
from muster.live.eta.calculation import Question, calculated, snapshot
from muster.live.eta.run_outs import REWRITTEN_MS, VALID_MS, RunOut, annotation, announced, current, run_outs
from muster.live.eta.start_range import StartRange
from muster.live.overview.overview import overview
from muster.live.overview.tree import BudgetRow, queue_tree
from muster.live.state import live_state
from muster.objects.kueue_queues import ClusterQueue
from muster.objects.names import BUDGET_FORECAST, BUDGETS
from tests.simulation.manifests import GPU, cluster_queue, local_stack, quotas, ray_job
from tests.unit.controller.builders import NOW_MS, Body
from tests.unit.live.builders import cluster, finished, running

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
END_MS = NOW_MS - NOW_MS % DAY_MS + DAY_MS
WAIT_S_MAX = 120.0
OWNER = "ClusterQueue team-a"


def budgeted(
    hours: int, period: str = "month", forecast: str = "", of_cohort: bool = False
) -> dict[str, Any]:
    """The queues of stack local with a budget, and an announced forecast in team-a."""
    objects = local_stack(check=False)
    budget = {BUDGETS: json.dumps([{"resource": GPU, "hours": hours, "period": period}])}
    queue, cohort = objects[kinds.CLUSTER_QUEUES][0], objects[kinds.COHORTS][0]
    (cohort if of_cohort else queue)["metadata"]["annotations"] = budget
    if forecast:
        queue["metadata"].setdefault("annotations", {})[BUDGET_FORECAST] = forecast
    return {"CLUSTER_QUEUES": objects[kinds.CLUSTER_QUEUES], "COHORTS": objects[kinds.COHORTS]}


def past(count: int = 30) -> list[Body]:
    """Jobs with 4 GPUs that ran for half an hour, one an hour."""
    return [finished(ray_job(f"past-{n}"), 1800, 3600 * n) for n in range(1, count + 1)]


def created_when_it_began(workload: Body) -> Body:
    began = workload["status"]["conditions"][0]["lastTransitionTime"]
    return {**workload, "metadata": {**workload["metadata"], "creationTimestamp": began}}


def observed(hours: int, count: int = 30, **fields: Any) -> ClusterState:
    workloads = map(created_when_it_began, [*past(count), running(ray_job("now"), 60)])
    return cluster(*workloads, **budgeted(hours, **fields))


@pytest.mark.parametrize("of_cohort", [False, True])
def test_budget_runs_out_by_jobs_that_are_submitted_later(of_cohort: bool) -> None:
    """2 GPU hours an hour are submitted; at the present rate of 4 GPUs, 50 hours would last 12.5 hours."""
    state = live_state(observed(50, of_cohort=of_cohort), DEFAULT, NOW_MS)
    estimates = run_outs(state, lambda: True)
    assert list(estimates) == (["team-a", "team-b"] if of_cohort else ["team-a"])
    (estimate,) = estimates["team-a"]
    assert estimate.owner == ("cohort ml" if of_cohort else OWNER)
    assert estimate.budget == f"50 {GPU} hours of this month"
    assert estimate.range.p50_ms is not None
    assert 20 * HOUR_MS < estimate.range.p50_ms - NOW_MS < 30 * HOUR_MS


def test_budget_that_lasts_has_no_time() -> None:
    (estimate,) = run_outs(live_state(observed(10_000), DEFAULT, NOW_MS), lambda: True)["team-a"]
    assert (estimate.range.p10_ms, estimate.range.p90_ms, estimate.range.futures) == (None, None, 20)


NONE: dict[str, tuple[ClusterState, bool]] = {
    "too few past jobs": (observed(50, count=5), True),
    "no time for the calculation": (observed(50), False),
    "no budget": (cluster(*past()), True),
}


@pytest.mark.parametrize(("of", "goes_on"), NONE.values(), ids=NONE)
def test_no_forecast(of: ClusterState, goes_on: bool) -> None:
    assert run_outs(live_state(of, DEFAULT, NOW_MS), lambda: goes_on) == {}


@pytest.mark.thorough
def test_process_of_its_own_gives_the_same_answer() -> None:
    of = observed(50)
    answer = asyncio.run(calculated(Question(snapshot(of), DEFAULT, NOW_MS), WAIT_S_MAX))
    assert answer.run_outs == run_outs(live_state(of, DEFAULT, NOW_MS), lambda: True)


def run_out(p50_ms: int | None, at_ms: int = NOW_MS, **fields: Any) -> RunOut:
    estimate = RunOut(OWNER, f"10 {GPU} hours of this 1 d", StartRange(at_ms, p50_ms, p50_ms, p50_ms, 20))
    return replace(estimate, **fields)


LATER = NOW_MS + 5 * HOUR_MS


def test_annotation_is_read_as_it_was_written() -> None:
    estimates = (run_out(LATER), run_out(None, owner="cohort ml"))
    assert announced(_queue(annotation(estimates))) == estimates


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[{}]", '[{"owner":"o","budget":"b","at":"now","futures":1}]']
)
def test_unreadable_annotation_is_none(text: str) -> None:
    assert announced(_queue(text)) == ()


def _queue(forecast: str) -> ClusterQueue:
    body = cluster_queue("team-a", quotas("l4", cpu=8, memory="8Gi", gpu=4))
    body["metadata"]["annotations"] = {BUDGET_FORECAST: forecast}
    return msgspec.convert(body, ClusterQueue)


CURRENT: dict[str, tuple[RunOut, bool]] = {
    "of this budget": (run_out(LATER), True),
    "of the cohort's": (run_out(LATER, owner="cohort ml"), False),
    "of another amount": (run_out(LATER, budget=f"20 {GPU} hours of this 1 d"), False),
    "within its period": (run_out(None), True),
    "an hour ago": (run_out(LATER, NOW_MS - HOUR_MS), True),
    "too old": (run_out(LATER, NOW_MS - VALID_MS - 1), False),
    "has passed": (run_out(NOW_MS - 1), False),
}


@pytest.mark.parametrize(("estimate", "is_used"), CURRENT.values(), ids=CURRENT)
def test_forecast_replaces_the_present_rate(estimate: RunOut, is_used: bool) -> None:
    of = cluster(running(ray_job("now"), 0), **budgeted(10, "day", annotation([estimate])))
    row = _row(of)
    by_rate = ("present rate", NOW_MS + HOUR_MS * 10 // 4)
    assert (row.runs_out_by, row.runs_out_ms) == (("forecast", estimate.range.p50_ms) if is_used else by_rate)


def test_budget_that_is_used_up_has_no_forecast() -> None:
    row = _row(
        cluster(**budgeted(0, "day", annotation([run_out(LATER, budget=f"0 {GPU} hours of this 1 d")])))
    )
    assert (row.runs_out_by, row.runs_out_ms) == ("present rate", NOW_MS)


def test_forecast_of_an_earlier_period_is_ignored() -> None:
    now_ms = END_MS + HOUR_MS
    estimate = run_out(now_ms + HOUR_MS, END_MS - 1000)
    of = cluster(**budgeted(10, "day", annotation([estimate])))
    (usage,) = overview(of, now_ms).budgets
    assert current(usage, of.cluster_queues, now_ms) is None
    rolling = replace(usage, budget=replace(usage.budget, rolling=True))
    later = replace(estimate, budget=rolling.description)
    of = cluster(**budgeted(10, "day", annotation([later])))
    assert current(rolling, of.cluster_queues, now_ms) == later.range


def _row(of: ClusterState) -> BudgetRow:
    (root,) = queue_tree(overview(of, NOW_MS))
    (row,) = root.children[0].budgets
    return row


MOVED: dict[str, tuple[RunOut, bool]] = {
    "the same": (run_out(LATER, NOW_MS + 60_000), False),
    "an hour later": (run_out(LATER, NOW_MS + REWRITTEN_MS), True),
    "another time": (run_out(LATER + 2 * HOUR_MS), True),
    "no time": (run_out(None), True),
}


@pytest.mark.parametrize(("after", "has_moved"), MOVED.values(), ids=MOVED)
def test_estimate_is_written_again_if_it_has_moved_or_is_old(after: RunOut, has_moved: bool) -> None:
    assert after.has_moved(run_out(LATER)) is has_moved
