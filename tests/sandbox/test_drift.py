"""`make drift` reports and reverts changes made by hand, and ignores fields that controllers own."""

from collections.abc import Iterator
from typing import Any

import pytest
from lightkube.types import PatchType

from drift.report import DRIFTED
from sandbox.cluster import kinds
from sandbox.drift import drift
from tests.sandbox.conftest import Cluster, rayjob

QUEUE = "team-b"


def cpu_quota(cluster: Cluster, quantity: str | None = None) -> str:
    """Returns the nominal quota of cpu, after setting it if one is given."""
    path = "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"
    if quantity is not None:
        patch = [{"op": "replace", "path": path, "value": quantity}]
        cluster.client.patch(kinds.ClusterQueue, QUEUE, patch, patch_type=PatchType.JSON)
    queue: Any = cluster.client.get(kinds.ClusterQueue, QUEUE)
    return str(queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"])


@pytest.fixture
def quota(cluster: Cluster) -> Iterator[str]:
    declared = cpu_quota(cluster)
    yield declared
    cpu_quota(cluster, declared)


@pytest.mark.thorough
def test_a_quota_edited_by_hand_is_reported_and_reverted(
    cluster: Cluster, quota: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job = rayjob("stays", namespace=QUEUE)
    job["metadata"]["annotations"]["sandbox.muster.dev/run-seconds"] = "600"
    name = cluster.submit(job)

    def running() -> bool:
        return bool(cluster.job(name, QUEUE).get("status", {}).get("jobStatus") == "RUNNING")

    cluster.until(f"{name} running", running)
    cpu_quota(cluster, "99")
    capsys.readouterr()

    assert drift(cluster.state) == DRIFTED
    printed = capsys.readouterr().out
    assert f"ClusterQueue {QUEUE}" in printed
    assert f"nominalQuota: 99 → {quota}" in printed
    assert "1 to update" in printed

    before = cluster.client.get(kinds.ClusterQueue, QUEUE)["status"]
    assert drift(cluster.state, fix=True) == 0
    assert cpu_quota(cluster) == quota
    assert cluster.client.get(kinds.ClusterQueue, QUEUE)["status"]["flavorsUsage"] == before["flavorsUsage"]
    assert running()
    assert drift(cluster.state) == 0
