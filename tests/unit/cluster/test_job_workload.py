"""The Workload of a job, as Kueue would create it."""

from typing import Any

import pytest

from muster.cluster import job_workload
from muster.kube import kinds
from muster.kube.writes import MergePatch
from muster.objects.names import JOB_UID_LABEL, MAX_EXEC_TIME_LABEL, PROVREQ_ANNOTATION_PREFIX
from tests.simulation.manifests import ray_cluster, ray_job, template
from tests.unit.controller.builders import (
    Body,
    job,
    make_cluster,
    stored,
    workload,
    workload_body,
    workload_without_job,
)

# sha1 of kind, group, name and UID, one per line, as in Kueue's workload_names.go; computed with sha1sum
NAMES = {
    "RayJob": ("RayJob", "dev", "uid-dev", "rayjob-dev-0b2fb"),
    "RayCluster": (
        "RayCluster",
        "notebook",
        "6f1c9c9e-8c1e-4d0c-9d52-7e0f6a3b2c11",
        "raycluster-notebook-db82d",
    ),
    "a long name stays whole": ("RayCluster", "n" * 53, "uid-long", f"raycluster-{'n' * 53}-e6391"),
    "not cut behind a dot": (
        "RayCluster",
        f"{'n' * 235}.n{'n' * 9}",
        "uid-long",
        f"raycluster-{'n' * 235}-815b6",
    ),
    "cut to 253 characters": ("RayCluster", "n" * 250, "uid-long", f"raycluster-{'n' * 236}-a1756"),
}


@pytest.mark.parametrize("name", NAMES)
def test_workload_names(name: str) -> None:
    kind, job_name, uid, expected = NAMES[name]
    assert job_workload.workload_name(kind, "ray.io/v1", job_name, uid) == expected
    assert len(expected) <= 253


def test_a_workload_has_the_users_templates() -> None:
    asks = {"provreq.kueue.x-k8s.io/maxRunDurationSeconds": "600"}
    written = ray_job("dev", workers=2)
    written["metadata"]["annotations"] |= asks
    body = job_workload.make_workload(job(written), make_cluster()).body
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "dev", "uid": "uid-dev"}
    assert body["metadata"] == {
        "name": "rayjob-dev-0b2fb",
        "namespace": "team-a",
        "labels": {"kueue.x-k8s.io/job-uid": "uid-dev"},
        "annotations": asks,
        "finalizers": ["kueue.x-k8s.io/resource-in-use"],
        "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
    }
    spec = body["spec"]
    assert (spec["active"], spec["queueName"], spec["priority"]) == (True, "user-queue", 100)
    assert spec["priorityClassRef"]["name"] == "dev-priority"
    assert [(s["name"], s["count"]) for s in spec["podSets"]] == [("head", 1), ("gpu", 2), ("submitter", 1)]


PRIORITIES: dict[str, tuple[str, str, list[dict[str, Any]], tuple[int, str | None]]] = {
    "the label's class": ("prod-priority", "", [], (1000, "WorkloadPriorityClass")),
    "the label before the pod's": ("dev-priority", "fast", [], (100, "WorkloadPriorityClass")),
    "a class that does not exist": ("urgent", "", [], (0, "WorkloadPriorityClass")),
    "the pods' class": ("", "fast", [], (7, "PriorityClass")),
    "the cluster's default": ("", "", [{"globalDefault": True, "value": 5}], (5, None)),
    "the highest of several defaults": (
        "",
        "",
        [{"globalDefault": True, "value": 5}, {"globalDefault": True, "value": 6}],
        (6, None),
    ),
    "no class": ("", "", [], (0, None)),
}


@pytest.mark.parametrize("name", PRIORITIES)
def test_the_priority_of_a_new_workload(name: str) -> None:
    label, pod_class, more, expected = PRIORITIES[name]
    head = template("head", cpu=1)
    head["spec"]["priorityClassName"] = pod_class
    written = ray_job("dev", priority=label)
    written["spec"]["rayClusterSpec"]["headGroupSpec"]["template"] = head
    classes = [{"metadata": {"name": f"class{n}"}, **c} for n, c in enumerate([{"value": 1}, *more])]
    classes.append({"metadata": {"name": "fast"}, "value": 7})
    value, reference = job_workload.priority_of(job(written), make_cluster({kinds.POD_PRIORITIES: classes}))
    assert (value, reference and reference.kind) == expected


def classes(**values: int) -> dict[Any, list[Body]]:
    return {kinds.PRIORITIES: [{"metadata": {"name": n}, "value": v} for n, v in values.items()]}


def test_the_class_named_default_is_that_of_jobs_without_a_label() -> None:
    cluster = make_cluster(classes(default=50, urgent=900))
    value, reference = job_workload.priority_of(job(ray_job("dev", priority="")), cluster)
    assert (value, reference and reference.name) == (50, "default")
    assert job_workload.priority_of(job(ray_job("dev", priority="urgent")), cluster)[0] == 900


RUNS = ("QuotaReserved", "Admitted")
# conditions, the class at its creation, the job's current label, the current classes -> its priority
NOW: dict[str, tuple[tuple[str, ...], str, str, dict[str, int], int]] = {
    "waiting, by its class": ((), "dev-priority", "dev-priority", {"dev-priority": 1500}, 1500),
    "running, by its class": (RUNS, "dev-priority", "dev-priority", {"dev-priority": 1500}, 1500),
    "waiting, by a new label once its Workload names it": (
        (),
        "dev-priority",
        "prod-priority",
        {"dev-priority": 1, "prod-priority": 9},
        1,
    ),
    "running, a new label does not raise it": (
        RUNS,
        "dev-priority",
        "prod-priority",
        {"dev-priority": 1, "prod-priority": 9},
        1,
    ),
    "running, its class is deleted": (RUNS, "dev-priority", "dev-priority", {"default": 7}, 100),
    "waiting without a label": ((), "", "", {"default": 7}, 7),
    "running without a label": (RUNS, "", "", {"default": 7}, 7),
    "running, a first label does not raise it": (
        RUNS,
        "",
        "prod-priority",
        {"default": 7, "prod-priority": 9},
        0,
    ),
}


@pytest.mark.parametrize("name", NOW)
def test_the_current_priority_follows_the_class(name: str) -> None:
    true, before, label, values, expected = NOW[name]
    objects = classes(**values) | {
        kinds.RAY_JOBS: [stored(ray_job("dev", priority=label))],
        kinds.WORKLOADS: [workload_body(ray_job("dev", priority=before), *true)],
    }
    cluster = make_cluster(objects)
    (only_workload,) = cluster.workloads.values()
    assert job_workload.priority_now(only_workload, cluster) == expected


def test_a_workload_without_a_job_and_a_class_keeps_its_priority() -> None:
    cluster = make_cluster(
        classes(default=7) | {kinds.WORKLOADS: [workload_without_job("batch", priority=100)]}
    )
    (only_workload,) = cluster.workloads.values()
    assert job_workload.priority_now(only_workload, cluster) == 100


UPDATES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "nothing": ({}, set()),
    "another queue": ({"queue": "elsewhere"}, {"queueName"}),
    "another priority": ({"priority": "prod-priority"}, {"priority", "priorityClassRef"}),
    "no priority": ({"priority": ""}, {"priority", "priorityClassRef"}),
    "more workers": ({"workers": 5}, {"podSets"}),
    "other requests": ({"worker": template("worker", cpu=9)}, {"podSets"}),
    "invalid requests": ({"worker": template("worker", cpu="nine")}, {"podSets"}),
    "another way to submit": ({"submissionMode": "HTTPMode"}, {"podSets"}),
}


@pytest.mark.parametrize("name", UPDATES)
def test_a_waiting_workload_follows_its_job(name: str) -> None:
    fields, expected = UPDATES[name]
    waiting_workload = workload(ray_job("dev"))
    change = job_workload.update_workload(waiting_workload, job(ray_job("dev", **fields)), make_cluster())
    if not expected:
        assert change is None
        return
    assert isinstance(change, MergePatch)
    assert set(change.body["spec"]) == expected
    assert (change.key, change.resource_version, change.status) == (waiting_workload.key, "7", False)


RUN_S = f"{PROVREQ_ANNOTATION_PREFIX}maxRunDurationSeconds"
PARAMETERS: dict[str, tuple[Body, Body, Body | None]] = {
    "nothing": ({RUN_S: "600"}, {RUN_S: "600", "mine": "x"}, None),
    "a first one": ({}, {RUN_S: "600"}, {RUN_S: "600"}),
    "another value": ({RUN_S: "600"}, {RUN_S: "60"}, {RUN_S: "60"}),
    "one is removed": ({RUN_S: "600"}, {}, {RUN_S: None}),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_of_requests_may_be_changed_while_it_waits(name: str) -> None:
    before, after, expected = PARAMETERS[name]
    first, second = ray_job("dev"), ray_job("dev")
    first["metadata"]["annotations"] |= before
    second["metadata"]["annotations"] |= after
    change = job_workload.update_workload(workload(first), job(second), make_cluster())
    if expected is None:
        assert change is None
        return
    assert isinstance(change, MergePatch)
    assert change.body == {"metadata": {"annotations": expected}}


MAX_RUNS = {
    "": None,
    "3600": 3600,
    "0": None,
    "-5": None,
    "+5": None,
    "an hour": None,
    "2147483647": 2**31 - 1,
    "2147483648": None,
    "9" * 5000: None,
}


@pytest.mark.parametrize("text", MAX_RUNS)
def test_how_long_a_job_may_run(text: str) -> None:
    written = ray_job("dev")
    written["metadata"]["labels"][MAX_EXEC_TIME_LABEL] = text
    body = job_workload.make_workload(job(written), make_cluster()).body
    assert body["spec"]["maximumExecutionTimeSeconds"] == MAX_RUNS[text]


def test_the_execution_time_may_be_changed_while_it_waits() -> None:
    written = ray_job("dev")
    written["metadata"]["labels"][MAX_EXEC_TIME_LABEL] = "60"
    change = job_workload.update_workload(workload(ray_job("dev")), job(written), make_cluster())
    assert isinstance(change, MergePatch)
    assert change.body["spec"] == {"maximumExecutionTimeSeconds": 60}


def test_a_ray_cluster_has_no_submitter() -> None:
    body = job_workload.make_workload(job(ray_cluster("notebook")), make_cluster()).body
    assert [s["name"] for s in body["spec"]["podSets"]] == ["head", "gpu"]
    assert stored(body)["metadata"]["name"].startswith("raycluster-notebook-")
    assert body["metadata"]["labels"] == {JOB_UID_LABEL: "uid-notebook"}
