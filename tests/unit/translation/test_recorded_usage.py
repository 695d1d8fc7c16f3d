"""Recorded usage: intervals in hours, and sums."""

import pytest

from muster.admission import Spent
from muster.objects.kueue import WorkloadStatus
from muster.objects.meta import set_condition
from muster.translation import recorded_usage
from muster.translation.recorded_usage import HOUR_S, HOURLY_S, RETAINED_S, WorkloadUsage

GPU = "nvidia.com/gpu"
TWO = [(("l4", GPU), 2)]

INTERVALS: dict[str, tuple[int, int, dict[int, int]]] = {
    "within an hour": (10, 15, {0: 10}),
    "over the end of an hour": (HOUR_S - 10, HOUR_S + 5, {0: 20, 1: 10}),
    "whole hours": (HOUR_S, 3 * HOUR_S, {1: 2 * HOUR_S, 2: 2 * HOUR_S}),
    "no time": (10, 10, {0: 0}),
}


@pytest.mark.parametrize(("since_s", "until_s", "hours"), INTERVALS.values(), ids=INTERVALS)
def test_interval_is_split_by_hours(since_s: int, until_s: int, hours: dict[int, int]) -> None:
    assert recorded_usage.of_interval(TWO, since_s, until_s) == {"l4": {GPU: hours}}


def test_pod_sets_of_one_flavor_are_added() -> None:
    assert recorded_usage.of_interval([*TWO, (("l4", GPU), 1), (("t4", GPU), 0)], 0, 5) == {
        "l4": {GPU: {0: 15}}
    }


def test_clock_that_was_set_back_records_nothing() -> None:
    assert recorded_usage.of_interval(TWO, 2 * HOUR_S, HOUR_S) == {}


def test_old_usage_is_merged_into_days_and_then_dropped() -> None:
    now_s = 100 * 24 * HOUR_S
    hour = (now_s - HOURLY_S) // HOUR_S - 3  # of the previous day
    part = {"l4": {GPU: {hour: 1, hour - 1: 2, (now_s - RETAINED_S) // HOUR_S - 1: 4, now_s // HOUR_S: 8}}}
    day = hour - hour % 24
    assert recorded_usage.merged([part], now_s) == {"l4": {GPU: {day: 3, now_s // HOUR_S: 8}}}


def test_core_reads_units_and_milliseconds() -> None:
    assert list(recorded_usage.as_spent({"l4": {GPU: {2: 7}}})) == [Spent(GPU, 2 * HOUR_S * 1000, 7000, "l4")]


MESSAGES: dict[str, tuple[str, WorkloadUsage]] = {
    "usage": (
        '{"until":5,"queues":{"q":{"l4":{"nvidia.com/gpu":{"0":10}}}}}',
        WorkloadUsage(until=5, queues={"q": {"l4": {GPU: {0: 10}}}}),
    ),
    "no JSON": ("written by hand", WorkloadUsage()),
}


@pytest.mark.parametrize(("message", "usage"), MESSAGES.values(), ids=MESSAGES)
def test_condition_of_a_workload_is_read(message: str, usage: WorkloadUsage) -> None:
    kind = recorded_usage.USAGE_CONDITION
    conditions = set_condition((), kind, status=True, reason="Recorded", message=message, now_ms=0)
    assert recorded_usage.of_workload(WorkloadStatus(conditions=conditions)) == usage
