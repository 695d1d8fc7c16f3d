"""Past jobs as the Workloads of a cluster record them."""

import pytest

from muster.configuration.configuration import DEFAULT
from muster.live.past_workloads import past_workloads
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import NOW_MS
from tests.unit.live.builders import cluster, finished, since

READY: dict[str, tuple[str, int | None, int]] = {
    "all pods started": ("Started", 60_000, 600_000),
    "a lost pod was replaced": ("Recovered", None, 660_000),
}


@pytest.mark.parametrize("name", READY)
def test_start_up_is_not_learned_from_a_recovery(name: str) -> None:
    """The condition PodsReady has the time of the recovery; the run then counts from the admission."""
    reason, start_up_ms, run_ms = READY[name]
    body = finished(ray_job("dev"), ran_s=600, ago_s=3_600)
    body["status"]["conditions"] = [
        since("QuotaReserved", 4_260),
        since("Admitted", 4_260),
        since("PodsReady", 4_200, reason=reason),
        since("Finished", 3_600, reason="Succeeded"),
    ]
    (past,) = past_workloads(cluster(body), DEFAULT.rules, NOW_MS)
    assert (past.start_up_ms, past.job.run_ms) == (start_up_ms, run_ms)
