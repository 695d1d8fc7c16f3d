"""Topologies from the stack file to the nodes on which a gang's pods run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.objects.names import REQUIRED_TOPOLOGY
from sandbox.apply import apply
from sandbox.cluster import kinds
from sandbox.stack_file import SOURCE
from tests.sandbox.conftest import Cluster, Manifest, rayjob

RACK, HOSTNAME = "example.com/rack", "kubernetes.io/hostname"
# Two racks of two nodes, each with room for one worker.
RACKS: Manifest = {
    "name": "racks",
    "machineType": "n2-standard-8",
    "nodes": {"max": 4},
    "topology": [RACK, HOSTNAME],
}
WORKER_CPU = 5


@pytest.fixture
def with_racks(cluster: Cluster, tmp_path: Path) -> Iterator[None]:
    """Adds the pool, with quota for team-a, and removes it again."""
    content = yaml.safe_load(SOURCE.read_text())
    config = content["config"]
    config["muster:pools"].append(RACKS)
    config["muster:queues"]["clusterQueues"][0]["quotas"]["racks"] = {"cpu": 30, "memory": "100Gi"}
    path = tmp_path / SOURCE.name
    path.write_text(yaml.safe_dump(content))
    apply(cluster.state, path)
    yield
    for job in cluster.client.list(kinds.RayJob, namespace="*"):
        kinds.delete(cluster.client, kinds.RayJob, job)
    cluster.until("no workloads", lambda: not any(cluster.client.list(kinds.Workload, namespace="*")))
    apply(cluster.state)


def near(name: str, workers: int) -> Manifest:
    """Returns a job whose workers need one rack."""
    job = rayjob(name, gpus=workers)
    job["metadata"]["annotations"]["sandbox.muster.dev/run-seconds"] = "600"
    (group,) = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    template: dict[str, Any] = group["template"]
    template.setdefault("metadata", {}).setdefault("annotations", {})[REQUIRED_TOPOLOGY] = RACK
    for container in template["spec"]["containers"]:
        amounts = {"cpu": WORKER_CPU, "memory": "1Gi"}
        container["resources"] = {"requests": amounts, "limits": amounts}
    return job


def racks_of(cluster: Cluster, job: str) -> list[str]:
    """Returns the rack of each running worker."""
    racks = {
        node["metadata"]["name"]: node["metadata"]["labels"].get(RACK, "none")
        for node in cluster.client.list(kinds.Node)
    }
    return [
        racks[pod["spec"]["nodeName"]]
        for pod in cluster.pods(job)
        if pod["metadata"]["labels"].get("ray.io/node-type") == "worker"
        and pod["status"].get("phase") == "Running"
    ]


@pytest.mark.thorough
def test_a_gang_runs_in_the_rack_that_has_room_for_all_of_it(cluster: Cluster, with_racks: None) -> None:
    alone = cluster.submit(near("alone", 1))
    cluster.until("its worker runs", lambda: len(racks_of(cluster, alone)) == 1)
    gang = cluster.submit(near("gang", 2))
    cluster.until("both workers run", lambda: len(racks_of(cluster, gang)) == 2)

    (taken,), (first, second) = racks_of(cluster, alone), racks_of(cluster, gang)
    assert first == second != taken

    waiting = cluster.submit(near("waits", 2))
    assert "topology" in cluster.until_waits(waiting)["message"]
