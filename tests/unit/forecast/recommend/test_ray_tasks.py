"""Candidates as Ray tasks: the same results as on this machine's cores. Ray is an optional extra."""

import importlib.util

import pytest

from muster.forecast.recommend.errors import RecommendError
from muster.forecast.recommend.ray_tasks import RayTasks
from muster.forecast.recommend.tasks import Task, WorkerProcesses
from tests.unit.forecast.recommend.builders import CONFIG, built, request

HAS_RAY = importlib.util.find_spec("ray") is not None
REQUEST = request("a p90 <= 5m")


@pytest.mark.skipif(not HAS_RAY, reason="ray is not installed: pip install '.[ray]'")
def test_ray_gives_the_results_of_this_machine() -> None:
    tasks = [Task(built(CONFIG).configuration, seed, jobs) for seed in range(2) for jobs in (12, 24)]
    with RayTasks(REQUEST) as on_ray, WorkerProcesses(REQUEST, 1) as here:
        assert dict(on_ray.run(tasks)) == dict(here.run(tasks))


@pytest.mark.skipif(HAS_RAY, reason="ray is installed")
def test_without_ray_the_error_says_how_to_install_it() -> None:
    with pytest.raises(RecommendError, match=r'install it: pip install "\.\[ray\]"'):
        RayTasks(REQUEST)
