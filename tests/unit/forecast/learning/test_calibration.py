"""The range of learned run times on jobs that were not used to learn them."""

from math import exp
from random import Random

import pytest

from muster.forecast.learning.past_job import PastJob
from muster.forecast.learning.run_times import RunTimes
from muster.forecast.placement import PlacedJob

pytestmark = pytest.mark.slow

CLUSTERS, USERS, FUTURES = 60, 4, 39


def cluster_jobs(random: Random, count: int) -> list[PastJob]:
    """Draws jobs of a cluster whose users differ in their run times; half of them declare a limit."""
    of_cluster = random.gauss(6.5, 1.5)
    users = [(random.gauss(of_cluster, 0.8), random.uniform(0.3, 1.2)) for _ in range(USERS)]
    jobs = []
    for _ in range(count):
        user = random.randrange(USERS)
        run_ms = round(1000 * max(1.0, exp(random.gauss(*users[user]))))
        limit_ms = round(run_ms / random.uniform(0.3, 1)) if user % 2 else None
        job = PlacedJob(
            name="job",
            submit_ms=0,
            queue="a",
            priority_class="low",
            user=f"user-{user}",
            pods=1,
            accelerators=1,
            run_ms=run_ms,
            priority=0,
            pod_sets=(),
        )
        jobs.append(PastJob(job, limit_ms))
    return jobs


@pytest.mark.parametrize("past_count", [0, 3, 10, 40, 160])
def test_about_80_percent_of_new_jobs_run_for_a_time_in_the_range(past_count: int) -> None:
    """Ranges are from the 10th to the 90th percentile, of clusters and jobs that the model has not seen."""
    within = 0
    for number in range(CLUSTERS):
        *past, target = cluster_jobs(Random(number), past_count + 1)
        run_times = RunTimes(past)
        drawn = sorted(
            run_times.in_future(seed).drawn_ms(target.job, target.limit_ms, 0, Random(f"{seed}/{number}"))
            for seed in range(FUTURES)
        )
        low_ms, high_ms = drawn[round(0.1 * (FUTURES + 1)) - 1], drawn[round(0.9 * (FUTURES + 1)) - 1]
        within += low_ms <= (target.job.run_ms or 0) <= high_ms
    assert 0.7 <= within / CLUSTERS <= 0.95
