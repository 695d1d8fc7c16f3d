"""The agreement of two histories, in small cases that are counted by hand."""

from collections.abc import Sequence

import pytest

from tests.fidelity.agreement import compare, kendall_tau, overlap, waits
from tests.fidelity.history import Holding
from tests.unit.fidelity.builders import held, history, job

TAUS: dict[str, tuple[str, str, float]] = {
    "the same order": ("abcd", "abcd", 1.0),
    "the reverse": ("abcd", "dcba", -1.0),
    "two neighbours swapped: one of six pairs": ("abcd", "acbd", 4 / 6),
    "only common jobs count": ("abcx", "ybca", -1 / 3),
    "one job has no order": ("a", "a", 1.0),
}


@pytest.mark.parametrize("name", TAUS)
def test_kendalls_tau_counts_pairs(name: str) -> None:
    order, other, expected = TAUS[name]
    assert kendall_tau(order, other) == pytest.approx(expected)


OVERLAPS: dict[str, tuple[Sequence[Holding], Sequence[Holding], float]] = {
    "the same": ([held("a", 0, 10)], [held("a", 0, 10)], 1.0),
    "later by half": ([held("a", 0, 10)], [held("a", 5, 15)], 5 / 15),
    "another job": ([held("a", 0, 10)], [held("b", 0, 10)], 0.0),
    "once more": ([held("a", 0, 10)], [held("a", 0, 10), held("a", 20, 30)], 10 / 20),
    "no quota is held": ([], [], 1.0),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_the_overlap_is_the_time_held_in_both(name: str) -> None:
    ours, theirs, expected = OVERLAPS[name]
    assert overlap(ours, theirs) == pytest.approx(expected)
    assert overlap(theirs, ours) == pytest.approx(expected)


JOBS = [job("a"), job("b", priority_class="prod-priority"), job("c", queue="q")]


def test_mean_waits_deviate_by_class_relative_to_the_measured_ones() -> None:
    forecast = history(JOBS, held("b", 9, 20), held("a", 10, 20), held("c", 30, 40))
    measured = history(JOBS, held("b", 10, 20), held("a", 20, 30), held("c", 30, 40))
    assert compare(forecast, measured).deviations == pytest.approx(
        {"dev-priority": (20 - 25) / 25, "prod-priority": -0.1}
    )


def test_orders_are_compared_by_place() -> None:
    forecast = history(JOBS, held("a", 1, 9), held("b", 2, 9), held("c", 3, 9))
    measured = history(JOBS, held("a", 1, 9), held("c", 2, 9), held("b", 3, 9))
    comparison = compare(forecast, measured)
    assert (comparison.equal_positions, comparison.divergence) == (1 / 3, 1)
    assert compare(forecast, forecast).divergence is None


def test_a_job_that_only_one_history_admits_is_a_difference() -> None:
    forecast, measured = history(JOBS, held("a", 1, 9)), history(JOBS, held("a", 1, 9), held("b", 2, 9))
    comparison = compare(forecast, measured)
    assert (comparison.equal_positions, comparison.divergence) == (0.5, 1)


def test_a_class_that_only_the_forecast_starts_deviates_by_everything() -> None:
    forecast = history(JOBS, held("b", 9, 20), held("a", 10, 20), held("c", 30, 40))
    measured = history(JOBS, held("a", 10, 20), held("c", 30, 40))
    assert compare(forecast, measured).deviations["prod-priority"] == pytest.approx(float("inf"))


def test_waits_are_told_by_queue_and_over_all_queues() -> None:
    wait_times = waits(history(JOBS, held("b", 9, 20), held("a", 10, 20), held("c", 30, 40)))
    means = {column: waited.mean_s for column, waited in wait_times.items()}
    assert means == {
        ("", "dev-priority"): 20,
        ("", "prod-priority"): 9,
        ("a", "dev-priority"): 10,
        ("a", "prod-priority"): 9,
        ("q", "dev-priority"): 30,
    }
