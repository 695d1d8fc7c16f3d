"""What the elastic scenario on real nodes reads from the objects of a cluster."""

import pytest

from sandbox.cluster.kinds import Object
from sandbox.scenarios.elastic_in_pods import Elastic, is_grown, state

JOB = "cpu-elastic-x"


def owned(name: str, owner: str = JOB) -> Object:
    return {"metadata": {"name": name, "ownerReferences": [{"name": owner, "controller": True}]}}


def workload(owner: str, count: int) -> Object:
    assigned = [{"name": "head", "count": 1}, {"name": "cpu", "count": count}]
    return {**owned("w", owner), "status": {"admission": {"podSetAssignments": assigned}}}


def cluster(owner: str, limit: int) -> Object:
    return {**owned("c", owner), "spec": {"workerGroupSpecs": [{"groupName": "cpu", "maxReplicas": limit}]}}


def pod(name: str, ray_cluster: str, phase: str = "Running") -> Object:
    kind = {"ray.io/node-type": "head"} if name == "head" else {"ray.io/group": "cpu"}
    labels = {"ray.io/cluster": ray_cluster, **kind}
    return {"metadata": {"name": name, "uid": name, "labels": labels}, "status": {"phase": phase}}


def test_the_state_is_that_of_the_job_alone() -> None:
    own, other = f"{JOB}-abc", "cpu-batch-y-abc"
    pods = [pod("head", own), pod("a", own), pod("b", own, "Pending"), pod("c", other)]
    workloads = [workload(JOB, 3), workload("cpu-batch-y", 1), {**owned("new"), "status": {}}]
    clusters = [cluster(JOB, 5), cluster("cpu-batch-y", 1)]
    assert state(JOB, workloads, clusters, pods) == Elastic(3, 5, 1, frozenset({"head"}))


def test_a_job_without_objects_has_no_size() -> None:
    assert state(JOB, [], [], []) == Elastic(0, 0, 0, frozenset())


@pytest.mark.parametrize(
    ("granted", "limit", "running", "grown"),
    [
        pytest.param(7, 7, 7, True, id="all that fits"),
        pytest.param(7, 8, 7, False, id="one more fits"),
        pytest.param(7, 7, 6, False, id="one starts"),
        pytest.param(1, 1, 1, False, id="the minimum"),
    ],
)
def test_growth_ends_when_all_that_fits_runs(granted: int, limit: int, running: int, grown: bool) -> None:
    assert is_grown(Elastic(granted, limit, running, frozenset())) is grown
