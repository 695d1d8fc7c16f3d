"""The record of a run of a scenario: phases, milestones, and GPUs against the quota."""

from typing import Any

import msgspec
import pytest

from sandbox.scenarios.milestones import MilestoneResult
from sandbox.scenarios.observations import JobRef, ObservedChange, ObservedObjects
from sandbox.scenarios.recording import (
    Gpus,
    GpuUse,
    Job,
    Recording,
    from_json,
    gang_gpus,
    recorded_job,
    to_json,
)
from sandbox.scenarios.timeline import Phase
from tests.unit.stand_ins.observed import gang, obj

CAST = {"dev": JobRef("RayJob", "t", "dev"), "prod": JobRef("RayJob", "t", "prod")}
GPU = "nvidia.com/gpu"


def cluster_queue(name: str, reserved: str) -> ObservedChange:
    def flavors(key: str, amount: str) -> list[dict[str, Any]]:
        return [
            {"name": "cpu", "resources": [{"name": "cpu", key: "8"}]},
            {"name": "l4", "resources": [{"name": "cpu", key: "16"}, {"name": GPU, key: amount}]},
        ]

    spec = {"resourceGroups": [{"flavors": flavors("nominalQuota", "4")}]}
    return ObservedChange(
        0, "ClusterQueue", obj(name, spec=spec, status={"flavorsReservation": flavors("total", reserved)})
    )


def workload(of: str, queue: str) -> ObservedChange:
    return ObservedChange(
        0, "Workload", obj(f"w-{of}", owner=of, status={"admission": {"clusterQueue": queue}})
    )


def job(name: str) -> ObservedChange:
    return ObservedChange(0, "RayJob", obj(name))


HISTORIES = {
    "only the queue of the jobs counts": (
        [job("dev"), cluster_queue("other", "3"), cluster_queue("mine", "2"), workload("dev", "mine")],
        "mine",
        [Gpus(0, 0, 0, 0), Gpus(3, 0, 2, 4)],
    ),
    "pods on nodes count, those that wait for one do not": (
        [*gang("dev", phase="Pending"), *gang("dev"), *gang("dev", gone=True)],
        "",
        [Gpus(0, 0, 0, 0), Gpus(4, 1, 0, 0), Gpus(5, 2, 0, 0), Gpus(7, 1, 0, 0), Gpus(8, 0, 0, 0)],
    ),
    "pods of other jobs do not count": (gang("stranger"), "", [Gpus(0, 0, 0, 0)]),
    "both jobs count": (
        [*gang("dev"), *gang("prod", 2)],
        "",
        [Gpus(0, 0, 0, 0), Gpus(1, 1, 0, 0), Gpus(2, 2, 0, 0), Gpus(4, 3, 0, 0)],
    ),
}


@pytest.mark.parametrize(("events", "queue", "changes"), HISTORIES.values(), ids=HISTORIES)
def test_use_of_gpus_is_recorded_where_it_changes(
    events: list[ObservedChange], queue: str, changes: list[Gpus]
) -> None:
    observed, use = ObservedObjects(), GpuUse()
    for at, event in enumerate(events):
        observed.apply(event)
        use.record(float(at), observed, CAST)
    assert (use.queue, use.changes) == (queue, changes)


def group(replicas: int, gpus: int, **more: int) -> dict[str, Any]:
    container = {"resources": {"limits": {"cpu": "1", GPU: str(gpus)}}}
    return {"replicas": replicas, **more, "template": {"spec": {"containers": [container]}}}


def test_gpus_of_a_gang_are_those_of_all_its_worker_groups() -> None:
    groups = [group(2, 4), group(3, 1, numOfHosts=2), group(5, 0)]
    assert gang_gpus({"spec": {"rayClusterSpec": {"workerGroupSpecs": groups}}}) == 8 + 6


def test_job_is_recorded_under_the_name_of_its_manifest() -> None:
    manifest = {"metadata": {"generateName": "train-", "name": "train-abcdef"}, "spec": {}}
    assert recorded_job(manifest, "low", [(0.0, Phase.WAITING)]) == Job(
        "train", "low", 0, [(0.0, Phase.WAITING)]
    )


def recording(problem: str = "") -> Recording:
    return Recording(
        scenario="jobs",
        seconds=3.5,
        queue="team-a",
        jobs=[Job("train", "low", 4, [(0.0, Phase.WAITING), (1.25, Phase.RUNNING)])],
        milestones=[
            MilestoneResult("it runs", 1.5, "4 workers"),
            MilestoneResult("it ends", None, "", problem),
        ],
        gpus=[Gpus(0.0, 0, 0, 4), Gpus(1.25, 4, 4, 4)],
    )


def test_recording_is_read_as_it_was_written() -> None:
    assert from_json(to_json(recording())) == recording()


def test_what_is_no_recording_is_refused_with_its_path() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.jobs\[0\]\.phases\[0\]\[1\]"):
        from_json(to_json(recording()).replace(b'"waiting"', b'"asleep"'))


def test_recording_with_a_missing_milestone_is_not_complete() -> None:
    assert recording().complete
    assert not recording("not observed").complete
