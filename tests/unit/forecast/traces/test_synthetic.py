"""Synthetic traces: the seed decides them, and their distributions are those of the specification."""

import math
import statistics
from collections import Counter
from itertools import islice, pairwise
from random import Random
from typing import Any

import pytest

from muster.forecast.traces import synthetic
from muster.forecast.traces.synthetic import OfferedLoad, Profile, Specification
from muster.forecast.traces.trace import Trace, TraceError
from tests.unit.forecast.traces.builders import GPU

pytestmark = pytest.mark.slow

HOUR_MS = synthetic.HOUR_MS
DAY_MS = 24 * HOUR_MS
MINUTE_MS = 60_000


def profile(queue: str = "research", **changes: Any) -> Profile:
    values: dict[str, Any] = {"queue": queue, "requests": {GPU: 1}, "run_median_seconds": 600}
    return Profile(**(values | changes))


def specification(*profiles: Profile, **changes: Any) -> Specification:
    values: dict[str, Any] = {"profiles": profiles or (profile(),), "jobs": 5_000, "days": 50}
    return Specification(**(values | changes))


def intervals(trace: Trace) -> list[int]:
    return [later.submit_ms - earlier.submit_ms for earlier, later in pairwise(trace.jobs)]


MIXED = specification(
    profile("serving", priority_class="high", weight=3, users=4),
    profile("research", gangs={1: 3, 8: 1}, weight=1),
    shape=0.7,
    hours=(*(1.0,) * 12, *(3.0,) * 12),
    weekend=0.5,
)


def test_same_seed_gives_the_same_jobs() -> None:
    assert synthetic.generate(MIXED, 5) == synthetic.generate(MIXED, 5)


def test_another_seed_gives_other_jobs() -> None:
    assert synthetic.generate(MIXED, 5).jobs != synthetic.generate(MIXED, 6).jobs


def test_longer_runs_leave_arrivals_and_kinds_as_they_are() -> None:
    slow = specification(profile(run_median_seconds=6_000))
    before, after = (synthetic.generate(each, 5).jobs for each in (specification(), slow))
    assert [(job.submit_ms, job.user) for job in before] == [(job.submit_ms, job.user) for job in after]


def test_jobs_are_as_many_as_asked_and_take_about_the_days() -> None:
    trace = synthetic.generate(specification(), 5)
    assert len(trace.jobs) == 5_000
    assert trace.jobs[0].submit_ms == 0
    assert trace.jobs[-1].submit_ms / DAY_MS == pytest.approx(50, rel=0.05)


@pytest.mark.parametrize(("shape", "variation"), [(1.0, 1.0), (0.7, 1.46), (2.0, 0.52)])
def test_intervals_vary_as_the_shape_says(shape: float, variation: float) -> None:
    lengths = intervals(synthetic.generate(specification(shape=shape), 5))
    # Standard deviation by mean of a Weibull distribution: 1 for the exponential one.
    assert statistics.stdev(lengths) / statistics.mean(lengths) == pytest.approx(variation, rel=0.08)


def test_hours_of_a_day_have_their_share_of_arrivals() -> None:
    week = synthetic.week_of((*(1.0,) * 12, *(3.0,) * 12), weekend=1.0)
    times_ms = list(islice(synthetic.arrival_times(Random(5), MINUTE_MS, 1.0, week), 20_000))
    late = sum(time % DAY_MS >= DAY_MS / 2 for time in times_ms)
    assert late / len(times_ms) == pytest.approx(0.75, abs=0.02)
    assert times_ms[-1] == pytest.approx(20_000 * MINUTE_MS, rel=0.05)


def test_weekend_has_its_share_of_arrivals() -> None:
    week = synthetic.week_of((1.0,) * 24, weekend=0.25)
    arrivals = islice(synthetic.arrival_times(Random(5), MINUTE_MS, 1.0, week), 50_000)
    days = Counter(int(time // DAY_MS) % 7 for time in arrivals if time < 4 * 7 * DAY_MS)
    assert (days[5] + days[6]) / days.total() == pytest.approx(0.5 / 5.5, rel=0.1)


def test_intervals_longer_than_a_week_keep_their_length() -> None:
    week = synthetic.week_of((*(1.0,) * 12, *(3.0,) * 12), weekend=0.5)
    busy = islice(synthetic.arrival_times(Random(5), 100 * DAY_MS, 1.0, week), 200)
    flat = islice(synthetic.arrival_times(Random(5), 100 * DAY_MS, 1.0, (1.0,) * 168), 200)
    assert all(abs(item - other) < 7 * DAY_MS for item, other in zip(busy, flat, strict=True))


def test_run_times_are_lognormal() -> None:
    jobs = synthetic.generate(specification(profile(run_sigma=1.5)), 5).jobs
    logarithms = [math.log((job.run_ms or 0) / 1000) for job in jobs]
    assert statistics.mean(logarithms) == pytest.approx(math.log(600), abs=0.08)
    assert statistics.stdev(logarithms) == pytest.approx(1.5, rel=0.05)


def test_run_times_are_cut_off() -> None:
    jobs = synthetic.generate(specification(profile(run_sigma=2.0, run_max_seconds=900)), 5).jobs
    assert max(job.run_ms or 0 for job in jobs) == 900_000
    assert min(job.run_ms or 0 for job in jobs) >= 1_000


def test_kinds_sizes_and_users_follow_their_weights() -> None:
    jobs = synthetic.generate(MIXED, 5).jobs
    queues = Counter(job.queue for job in jobs)
    assert queues["serving"] / len(jobs) == pytest.approx(0.75, abs=0.02)
    assert {job.priority_class for job in jobs if job.queue == "serving"} == {"high"}
    gangs = Counter(job.pods for job in jobs if job.queue == "research")
    assert set(gangs) == {1, 8}
    assert gangs[8] / gangs.total() == pytest.approx(0.25, abs=0.03)
    users = Counter(job.user for job in jobs if job.queue == "serving")
    # The first of four users has 1 / (1 + 1/2 + 1/3 + 1/4) of the jobs.
    assert users["serving-user-1"] / users.total() == pytest.approx(0.48, abs=0.03)


@pytest.mark.parametrize("length", [{"jobs": 20_000, "days": None}, {"jobs": None, "days": 30}])
@pytest.mark.parametrize("longest", [3_600.0, 10**9])
def test_load_is_kept_busy_on_average(length: dict[str, Any], longest: float) -> None:
    gangs = profile(gangs={2: 1, 6: 1}, requests={GPU: 8, "cpu": "1500m"}, run_max_seconds=longest)
    load = OfferedLoad(share=0.8, capacity=512)
    jobs = synthetic.generate(specification(gangs, load=load, **length), 5).jobs
    busy = sum(job.pods * job.requests[GPU] * (job.run_ms or 0) for job in jobs)
    assert busy / (512 * jobs[-1].submit_ms) == pytest.approx(0.8, rel=0.05)


def test_load_of_cpus_is_in_cores() -> None:
    cpus = profile(requests={"cpu": "500m"}, run_sigma=0)
    load = OfferedLoad(share=0.5, capacity=8, resource="cpu")
    jobs = synthetic.generate(specification(cpus, load=load, days=None), 5).jobs
    assert jobs[-1].submit_ms / len(jobs) == pytest.approx(600_000 * 0.5 / (0.5 * 8), rel=0.05)


BAD_SPECIFICATIONS: dict[str, tuple[dict[str, Any], str]] = {
    "only jobs": ({"days": None}, "expected exactly two of jobs, days and load"),
    "all three": ({"load": OfferedLoad(share=1, capacity=8)}, "expected exactly two of jobs, days and load"),
    "a load of what no profile requests": (
        {"days": None, "load": OfferedLoad(share=1, capacity=8, resource="google.com/tpu")},
        "load of google.com/tpu, which no profile requests",
    ),
    "hardly any load": (
        {"days": None, "load": OfferedLoad(share=1e-12, capacity=1)},
        "a load of 1e-12 is less than a job in 36,500 days",
    ),
    "a request that is no quantity": (
        {"profiles": (profile(requests={"cpu": "many"}),)},
        "profile of research: 'many' is not a quantity of cpu",
    ),
}


@pytest.mark.parametrize("name", BAD_SPECIFICATIONS)
def test_contradicting_specification_is_refused(name: str) -> None:
    changes, expected = BAD_SPECIFICATIONS[name]
    with pytest.raises(TraceError, match=expected):
        synthetic.generate(specification(**changes), 5)


PROFILES = "profiles: [{queue: q, requests: {cpu: 1}, runMedianSeconds: 60}]\n"
BAD_FILES = {
    "no YAML": ("jobs: [", r"spec\.yaml: "),
    "no profiles": ("{jobs: 5, days: 1, profiles: []}", r"length >= 1 - at `\$\.profiles`"),
    "an unknown key": (PROFILES + "seed: 5", "unknown field `seed`"),
    "a day of 23 hours": (f"{PROFILES}hours: {[1] * 23}", r"of length >= 24 - at `\$\.hours`"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_specification_file_is_refused(name: str) -> None:
    text, expected = BAD_FILES[name]
    with pytest.raises(TraceError, match=expected):
        synthetic.from_yaml(text, "spec.yaml")
