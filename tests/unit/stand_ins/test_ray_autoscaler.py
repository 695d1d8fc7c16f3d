"""The stand-in for Ray's autoscaler, as a function of a RayCluster and its pods."""

import logging
from typing import Any

import pytest

from sandbox.cluster.kinds import Object
from sandbox.stand_ins.ray_autoscaler import WORKERS, runs, scaled, work_of


def cluster(work: str, *, replicas: int = 1, least: int = 1, most: int = 4, **group: Any) -> Object:
    sizes = {"groupName": "cpu", "replicas": replicas, "minReplicas": least, "maxReplicas": most, **group}
    meta = {"name": "c", "namespace": "team-a", "annotations": {WORKERS: work}}
    return {"metadata": meta, "spec": {"enableInTreeAutoscaling": True, "workerGroupSpecs": [sizes]}}


def worker(number: int, *, phase: str = "Running", group: str = "cpu", ends: bool = False) -> Object:
    deletion = {"deletionTimestamp": "2026-01-01T01:00:00Z"} if ends else {}
    return {
        "metadata": {
            "name": f"w{number}",
            "labels": {"ray.io/group": group},
            "creationTimestamp": f"2026-01-01T00:00:{number:02}Z",
            **deletion,
        },
        "status": {"phase": phase},
    }


PENDING = worker(0, phase="Pending")
DELETING = {"workersToDelete": ["w1"]}


@pytest.mark.parametrize(
    ("of", "pods", "replicas", "removed"),
    [
        pytest.param(cluster("cpu=3"), [worker(1)], 3, None, id="grows to its work"),
        pytest.param(cluster("cpu=9"), [worker(1)], 4, None, id="grows to its limit"),
        pytest.param(cluster("", replicas=2), [worker(1), worker(2)], 2, None, id="keeps its replicas"),
        pytest.param(cluster("gpu=3"), [worker(1)], 1, None, id="another group's work"),
        pytest.param(cluster("cpu=0", replicas=3), [worker(1), worker(2)], 1, ["w2"], id="keeps the oldest"),
        pytest.param(
            cluster("cpu=9", replicas=3, most=2),
            [PENDING, worker(1), worker(2)],
            2,
            ["w0"],
            id="a lower limit removes what has not started",
        ),
        pytest.param(
            cluster("cpu=1", replicas=2), [worker(1), worker(2, ends=True)], 1, None, id="one ends already"
        ),
        pytest.param(
            cluster("cpu=1", replicas=2, numOfHosts=2),
            [worker(n) for n in range(4)],
            1,
            ["w2", "w3"],
            id="all hosts of a replica",
        ),
    ],
)
def test_groups_are_scaled(of: Object, pods: list[Object], replicas: int, removed: list[str] | None) -> None:
    (group,) = scaled(of, pods)
    assert group["replicas"] == replicas
    assert group.get("scaleStrategy", {}).get("workersToDelete") == removed


def test_the_last_removal_is_completed_first() -> None:
    of = cluster("cpu=4", replicas=1, scaleStrategy=DELETING)
    assert scaled(of, [worker(1), worker(2)]) == of["spec"]["workerGroupSpecs"]
    (group,) = scaled(of, [worker(2)])
    assert group["replicas"] == 4
    assert "scaleStrategy" not in group


def test_an_unreadable_annotation_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert work_of(cluster("cpu=2, gpu=many")) == {"cpu": 2}
    assert "team-a/c: sandbox.muster.dev/workers: expected group=number, got 'gpu=many'" in caplog.text


@pytest.mark.parametrize(
    ("phase", "kind", "expected"),
    [("Running", "head", True), ("Pending", "head", False), ("Running", "worker", False)],
)
def test_the_autoscaler_runs_with_the_head(phase: str, kind: str, expected: bool) -> None:
    pod = worker(1, phase=phase)
    pod["metadata"]["labels"]["ray.io/node-type"] = kind
    assert runs([pod]) is expected
