"""The load of `make bench` at a small size: a burst, and a steady rate of RayJobs."""

import pytest
from lightkube.codecs import from_dict

from tests.bench.job_stream import Stream, play
from tests.bench.ray_jobs import queue_objects
from tests.sandbox.conftest import Cluster
from tests.storm.services import Services

QUOTA_JOBS = 50
BURST, STEADY = Stream("burst", 120), Stream("steady", 80, per_second=20)


@pytest.mark.thorough
def test_every_rayjob_of_a_burst_and_of_a_steady_rate_is_finished(cluster: Cluster) -> None:
    services = Services(cluster.processes)
    services.kill("ray-operator")  # the load reports RayJobs as finished itself
    try:
        for obj in queue_objects(QUOTA_JOBS):
            cluster.client.create(from_dict(obj))
        for stream in (BURST, STEADY):
            history = play(cluster.state.kubeconfig, stream)
            assert (history.lost, len(history.admitted_s)) == (0, stream.jobs)
            assert 0 < history.wait_s(50) <= history.wait_s(99) < history.took_s
        assert history.accepted_per_second <= STEADY.per_second * 1.1
    finally:
        services.keep()
