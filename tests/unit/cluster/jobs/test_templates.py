"""The fields that a start adds to a job's templates, and that a stop removes again."""

import json
from copy import deepcopy
from typing import Any

import pytest

from muster.cluster.jobs.templates import PlacementError, admitted_templates
from muster.controller.gangs.job_writes import job_writes
from muster.controller.gangs.stops import stops, template_resets
from muster.kube import kinds
from muster.kube.writes import JsonPatch, Overwrite
from muster.objects.kueue import Workload
from muster.objects.names import REQUEST_LABEL
from tests.simulation.api import apply_operation, merged
from tests.simulation.manifests import CHECK, ray_cluster, ray_job, template
from tests.unit.controller.builders import CREATED, NOW_MS, Body, make_cluster, read, stored, workload_body

POOL = "cloud.google.com/gke-nodepool"
UPDATE = {
    "name": "gpu",
    "labels": {"from": "check"},
    "annotations": {"request": "r1"},
    "nodeSelector": {REQUEST_LABEL: "resize-1"},
}


def admitted(job: Body, *conditions: str) -> Body:
    body = workload_body(job, "QuotaReserved", "Admitted", *conditions)
    state = {"name": CHECK, "state": "Ready", "message": "", "lastTransitionTime": CREATED}
    body["status"]["admissionChecks"] = [{**state, "podSetUpdates": [UPDATE]}]
    return body


def after(job: Body, workload: Body) -> Body:
    """Returns the job after the writes for this Workload; a stop takes two of them."""
    kind = kinds.RAY_JOBS if "rayClusterSpec" in job["spec"] else kinds.RAY_CLUSTERS
    stored_job = stored(job)
    stored_job["status"] = stored_job.get("status") or {
        "jobDeploymentStatus": "Suspended",
        "state": "suspended",
    }
    cluster, of = make_cluster({kind: [stored_job]}), read(kinds.WORKLOADS, workload)
    (planned,) = (
        *job_writes(of, cluster, NOW_MS),
        *stops(of, cluster, NOW_MS),
        *template_resets(of, cluster),
    )
    if isinstance(planned.write, Overwrite):
        return after(merged(job, planned.write.body), workload)
    assert isinstance(planned.write, JsonPatch)
    changed = deepcopy(job)
    for operation in planned.write.operations:
        apply_operation(changed, json.loads(json.dumps(operation)))
    return changed


def cluster_of(job: Body) -> Body:
    cluster_spec: Body = job["spec"].get("rayClusterSpec", job["spec"])
    return cluster_spec


def test_a_start_places_every_pod_set() -> None:
    started = after(ray_job("dev"), admitted(ray_job("dev")))
    assert started["spec"]["suspend"] is False
    head = cluster_of(started)["headGroupSpec"]["template"]
    worker = cluster_of(started)["workerGroupSpecs"][0]["template"]
    submitter = started["spec"]["submitterPodTemplate"]
    uid = {"muster.dev/workload-uid": "uid-rayjob-dev-0b2fb"}
    assert head["metadata"]["labels"] == submitter["metadata"]["labels"] == uid
    assert head["spec"]["nodeSelector"] == submitter["spec"]["nodeSelector"] == {POOL: "cpu"}
    assert worker["metadata"] == {"labels": {**uid, "from": "check"}, "annotations": {"request": "r1"}}
    assert worker["spec"]["nodeSelector"] == {POOL: "l4", REQUEST_LABEL: "resize-1"}
    keys = [t["key"] for t in worker["spec"]["tolerations"]]
    assert keys == ["nvidia.com/gpu", "cloud.google.com/gke-queued"]
    assert submitter["spec"]["containers"][0]["name"] == "ray-job-submitter"


def wordy() -> Body:
    """Returns a job whose templates have many fields of placement."""
    worker = template("worker", cpu=2, gpu=1)
    worker["metadata"] = {"labels": {"app": "mine"}, "annotations": {"note": "x"}}
    worker["spec"] |= {
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "spot", "operator": "Exists"}],
    }
    return ray_job("dev", worker=worker, submitterPodTemplate=template("submitter", cpu="250m"))


JOBS = {"plain": ray_job("dev"), "wordy": wordy(), "RayCluster": ray_cluster("notebook")}


@pytest.mark.parametrize("name", JOBS)
def test_a_stop_restores_the_users_templates(name: str) -> None:
    written = JOBS[name]
    started = after(written, admitted(written))
    started["status"] = {"jobDeploymentStatus": "Running", "state": "ready"}
    stopped = after(started, admitted(written, "Evicted"))
    assert without_empty(stopped["spec"]) == without_empty(written["spec"])


@pytest.mark.parametrize("name", JOBS)
def test_the_templates_of_a_job_suspended_by_hand_are_restored(name: str) -> None:
    """Otherwise the next Workload would take the placement of an earlier start for the user's."""
    written = JOBS[name]
    started = after(written, admitted(written))
    started["spec"]["suspend"] = True
    for workload in (admitted(written, "Evicted"), workload_body(written)):
        assert without_empty(after(started, workload)["spec"]) == without_empty(written["spec"])


def test_a_copy_of_a_started_job_is_not_written_in_a_loop() -> None:
    """The labels are the user's."""
    copied = after(ray_job("dev"), admitted(ray_job("dev")))
    copied["spec"]["suspend"] = True
    del copied["spec"]["submitterPodTemplate"]
    cluster = make_cluster({kinds.RAY_JOBS: [stored(copied)]})
    assert list(job_writes(read(kinds.WORKLOADS, workload_body(copied)), cluster, NOW_MS)) == []


@pytest.mark.parametrize("name", JOBS)
def test_a_second_start_writes_the_same_as_the_first(name: str) -> None:
    """The operator may not have observed the first start before the user suspended the job."""
    written = JOBS[name]
    started = after(written, admitted(written))
    again = deepcopy(started)
    again["spec"]["suspend"] = True
    assert after(again, admitted(written)) == started


def without_empty(value: Any) -> Any:
    """Returns the value without empty dicts and lists."""
    if isinstance(value, dict):
        retained = {k: without_empty(v) for k, v in value.items()}
        return {k: v for k, v in retained.items() if v not in ({}, [])}
    return [without_empty(v) for v in value] if isinstance(value, list) else value


def conflict(**fields: Any) -> Body:
    worker = template("worker", cpu=2, gpu=1)
    worker |= {k: v for k, v in fields.items() if k == "metadata"}
    worker["spec"] |= {k: v for k, v in fields.items() if k != "metadata"}
    return admitted(ray_job("dev", worker=worker))


def without_part() -> Body:
    body = admitted(ray_job("dev"))
    body["status"]["admission"]["podSetAssignments"].pop()
    return body


def unknown_flavor() -> Body:
    body = admitted(ray_job("dev"))
    body["status"]["admission"]["podSetAssignments"][0]["flavors"] = {"cpu": "gone"}
    return body


CONFLICTS = {
    "node selector": (
        conflict(nodeSelector={POOL: "other"}),
        f"pod set 'gpu' sets nodeSelector {POOL}=other, but its admission needs l4",
    ),
    "label": (
        conflict(metadata={"labels": {"from": "me"}}),
        "pod set 'gpu' sets label from=me, but its admission needs check",
    ),
    "annotation": (
        conflict(metadata={"annotations": {"request": "mine"}}),
        "pod set 'gpu' sets annotation request=mine, but its admission needs r1",
    ),
    "a pod set that was added later": (
        without_part(),
        "inconsistent podSet assignments: pod set 'submitter' is not in the admission",
    ),
    "a flavor that was deleted": (
        unknown_flavor(),
        "ResourceFlavor 'gone' of the admission no longer exists",
    ),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_conflicts_name_the_pod_set_and_the_field(name: str) -> None:
    body, sentence = CONFLICTS[name]
    workload: Workload = read(kinds.WORKLOADS, body)
    with pytest.raises(PlacementError) as error_info:
        admitted_templates(workload, make_cluster().flavors)
    assert str(error_info.value) == sentence


@pytest.mark.parametrize("name", CONFLICTS)
def test_a_conflict_deactivates_the_workload(name: str) -> None:
    body, sentence = CONFLICTS[name]
    job = stored({**ray_job("dev"), "status": {"jobDeploymentStatus": "Suspended"}})
    (planned,) = job_writes(read(kinds.WORKLOADS, body), make_cluster({kinds.RAY_JOBS: [job]}), NOW_MS)
    (target,) = [
        c
        for c in planned.write.body["status"]["conditions"]  # type: ignore[union-attr]  # a MergePatch
        if c["type"] == "DeactivationTarget"
    ]
    assert (target["reason"], target["message"]) == ("FailedToStart", f"It can't be started: {sentence}")
    assert [n.message for n in planned.events] == [f"Deactivated due to It can't be started: {sentence}"]
