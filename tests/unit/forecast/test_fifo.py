"""Forecasts of FIFO queues next to an independent simulator, wait by wait."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.forecast.results.waits import waits_ms
from tests.unit.forecast.builders import configured, job, queue, simulated
from tests.unit.forecast.fifo_queue import FifoJob, starts

QUOTA = 8
STRATEGIES = {"StrictFIFO": True, "BestEffortFIFO": False}

# Few distinct times, so that submissions, ends and cancellations often fall into the same second.
JOBS = st.lists(
    st.builds(
        lambda submit, run, pods, gpus, cancelled: (submit, run, pods, gpus, cancelled),
        st.integers(0, 20),
        st.integers(0, 8),
        st.integers(1, 3),
        st.sampled_from([1, 2, 4]),
        st.one_of(st.none(), st.none(), st.integers(0, 6)),
    ),
    min_size=1,
    max_size=30,
)
Drawn = tuple[int, int, int, int, int | None]


def forecast_waits(drawn: Sequence[Drawn], strategy: str) -> list[float | None]:
    configuration = configured(queue("a", QUOTA, queueingStrategy=strategy))
    jobs = [
        job(
            f"job-{number}",
            submit,
            None if cancelled is not None else run,
            gpus,
            pods=pods,
            cancelled_ms=None if cancelled is None else 1000 * cancelled,
        )
        for number, (submit, run, pods, gpus, cancelled) in enumerate(drawn)
    ]
    waits = waits_ms(simulated(configuration, *jobs))
    return [None if wait is None else wait / 1000 for wait in waits]


def oracle_waits(drawn: Sequence[Drawn], strategy: str) -> list[float | None]:
    jobs = [FifoJob(submit, run, pods * gpus, cancelled) for submit, run, pods, gpus, cancelled in drawn]
    return [
        None if start is None else start - fifo_job.submit
        for fifo_job, start in zip(jobs, starts(jobs, QUOTA, STRATEGIES[strategy]), strict=True)
    ]


def deviations(drawn: Sequence[Drawn], strategy: str) -> dict[int, tuple[float | None, float | None]]:
    """Returns the waits of the forecast and of the oracle that differ, by job."""
    pairs = zip(forecast_waits(drawn, strategy), oracle_waits(drawn, strategy), strict=True)
    return {number: pair for number, pair in enumerate(pairs) if pair[0] != pair[1]}


@given(JOBS, st.sampled_from(list(STRATEGIES)))
def test_every_wait_is_as_an_independent_simulator_computes_it(drawn: list[Drawn], strategy: str) -> None:
    drawn.sort(key=lambda row: row[0])
    assert deviations(drawn, strategy) == {}


def busy(clock_s: int) -> list[Drawn]:
    """Jobs of a queue with a load of about 90%, of which a fifth is cancelled, with times in whole clocks."""
    random, submit = Random(7), 0.0
    rows: list[Drawn] = []
    for _ in range(300):
        submit += random.expovariate(1 / 100)
        run = max(clock_s, round(random.expovariate(1 / 300) / clock_s) * clock_s)
        cancelled = 600 if random.random() < 0.2 else None
        rows.append((int(submit // clock_s) * clock_s, run, 1, random.choice([1, 2, 4]), cancelled))
    return rows


@pytest.mark.parametrize("clock_s", [1, 60, 300])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_traces_with_a_coarse_clock_have_exact_waits(clock_s: int, strategy: str) -> None:
    drawn = busy(clock_s)
    assert deviations(drawn, strategy) == {}
    assert sum(wait or 0 for wait in oracle_waits(drawn, strategy)) > len(drawn) * 60, "too few jobs wait"
