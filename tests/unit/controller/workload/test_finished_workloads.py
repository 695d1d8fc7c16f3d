"""A finished Workload does not follow later changes of its job's spec."""

import pytest

from muster.controller.passes.reconcile import reconcile
from muster.kube import kinds
from muster.kube.writes import MergePatch
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import NOW_MS, make_cluster, stored, workload_body

STATES: dict[str, tuple[tuple[str, ...], bool]] = {
    "it waits": ((), True),
    "it is finished": (("Finished",), False),
    "it has quota": (("QuotaReserved",), False),
}


@pytest.mark.parametrize("name", STATES)
def test_only_a_waiting_workload_follows_its_job(name: str) -> None:
    conditions, follows = STATES[name]
    job = stored({**ray_job("dev", priority="prod-priority"), "status": {"jobDeploymentStatus": "Suspended"}})
    cluster = make_cluster(
        {kinds.RAY_JOBS: [job], kinds.WORKLOADS: [workload_body(ray_job("dev"), *conditions)]}
    )
    writes = [planned.write for planned in reconcile(cluster, NOW_MS).writes.before_reservations]
    changes = [
        w.body["spec"] for w in writes if isinstance(w, MergePatch) and not w.status and "spec" in w.body
    ]
    assert [set(spec) for spec in changes] == ([{"priority", "priorityClassRef"}] if follows else [])
