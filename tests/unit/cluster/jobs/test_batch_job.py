"""Jobs are counted, admitted, stopped and protected like the other kinds of jobs."""

from typing import Any

import pytest

from components.admission.policies import AdmissionPoliciesArgs, validating_policies
from components.admission.queues import suspending_mutations
from components.controller.rbac import CLUSTER_RULES
from muster.cluster.jobs.batch_job import BATCH_JOB
from muster.cluster.jobs.job import JobOutcome
from muster.cluster.ownership import identity
from muster.controller.passes.reconcile import reconcile
from muster.kube import kinds
from muster.kube.writes import Create, JsonPatch, MergePatch, Overwrite, Write
from muster.live.gang_pods import pods_of
from muster.objects.names import WORKLOAD_UID_LABEL
from tests.simulation.manifests import ray_job, template
from tests.unit.controller.builders import (
    NOW_MS,
    Body,
    controlled_by,
    job,
    make_cluster,
    pod,
    read,
    stored,
    workload_of,
)

SUSPENDED = {"conditions": [{"type": "Suspended", "status": "True"}]}
STARTED = {"conditions": [{"type": "Suspended", "status": "False"}], "startTime": "2026-01-01T00:00:00Z"}
STOPPED = {**STARTED, **SUSPENDED}


def batch_job(status: Body | None = None, *, meta: Body | None = None, **spec: Any) -> Body:
    labels = {"kueue.x-k8s.io/queue-name": "user-queue"}
    fixed = {"suspend": True, "parallelism": 4, "template": template("main", cpu=1)}
    metadata = {"name": "demo", "namespace": "team-a", "labels": labels, **(meta or {})}
    return stored({"metadata": metadata, "spec": {**fixed, **spec}, "status": status or SUSPENDED})


def view(body: Body) -> Any:
    return BATCH_JOB.view(read(kinds.BATCH_JOBS, body))


COUNTS: dict[str, tuple[Body, int]] = {
    "the default": ({"parallelism": None}, 1),
    "parallelism": ({"parallelism": 3}, 3),
    "fewer completions": ({"parallelism": 3, "completions": 2}, 2),
    "more completions": ({"parallelism": 3, "completions": 9}, 3),
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_job_is_a_gang_of_its_parallel_pods(name: str) -> None:
    spec, count = COUNTS[name]
    assert [(p.name, p.count) for p in view(batch_job(**spec)).pod_sets] == [("main", count)]


STATES: dict[str, tuple[Body, tuple[bool, bool, bool]]] = {
    # suspended_and_stopped, start_observed, ready_to_start
    "suspended": (batch_job(), (True, True, True)),
    "running": (batch_job(STARTED, suspend=False), (False, True, True)),
    "resumed, not observed": (batch_job(suspend=False), (False, False, True)),
    "stopping": (batch_job(STARTED), (False, True, True)),
    "stopped, with the old start time": (batch_job(STOPPED), (True, True, False)),
    "stopped, with an active pod": (batch_job({**STOPPED, "active": 1}), (False, True, True)),
}


@pytest.mark.parametrize("name", STATES)
def test_states_of_a_suspension(name: str) -> None:
    body, expected = STATES[name]
    of = view(body)
    assert (of.suspended_and_stopped, of.start_observed, of.ready_to_start) == expected


@pytest.mark.parametrize(("generation", "stopped"), [(1, True), (2, False)])
def test_a_job_without_status_is_stopped_only_if_it_was_created_suspended(
    generation: int, stopped: bool
) -> None:
    body = batch_job()
    body["status"] = {}
    body["metadata"]["generation"] = generation
    assert view(body).reported_stopped is stopped


ENDS = {
    "complete": ("Complete", "True", JobOutcome(True, "as before")),
    "failed": ("Failed", "True", JobOutcome(False, "as before")),
    "not failed": ("Failed", "False", None),
    "its pods still terminate": ("FailureTarget", "True", None),
}


@pytest.mark.parametrize("name", ENDS)
def test_outcomes(name: str) -> None:
    kind, status, outcome = ENDS[name]
    condition = {"type": kind, "status": status, "message": "as before"}
    assert view(batch_job({"conditions": [condition]})).outcome == outcome


INDEXED: Body = {"completionMode": "Indexed", "completions": 4}
RECLAIMABLE: dict[str, tuple[Body, Body, int]] = {
    "nothing has ended": ({}, {"succeeded": 0}, 0),
    "one of four": ({}, {"succeeded": 1}, 1),
    "places are taken again": ({"completions": 10}, {"succeeded": 6}, 0),
    "the last completions": ({"completions": 10}, {"succeeded": 8}, 2),
    "fewer completions than parallelism": ({"completions": 3}, {"succeeded": 1}, 1),
    "indexes": (INDEXED, {"completedIndexes": "0,2-3", "succeeded": 3}, 3),
    "failed indexes": (INDEXED, {"completedIndexes": "0", "failedIndexes": "2", "succeeded": 1}, 2),
    "overlapping indexes": (INDEXED, {"completedIndexes": "0-2", "failedIndexes": "1-2"}, 3),
    "removed indexes": (INDEXED, {"completedIndexes": "1,3-7", "succeeded": 6}, 2),
}


@pytest.mark.parametrize("name", RECLAIMABLE)
def test_pods_that_are_not_replaced_release_their_quota(name: str) -> None:
    spec, status, count = RECLAIMABLE[name]
    reclaimable = view(batch_job({**STARTED, **status}, suspend=False, **spec)).reclaimable_pods
    assert sum(pods.count for pods in reclaimable) == count


INELIGIBLE: dict[str, tuple[Body, str]] = {
    "a manual selector": (batch_job(manualSelector=True), "spec.manualSelector could make it adopt pods"),
    "partial admission": (
        batch_job(meta={"annotations": {"kueue.x-k8s.io/job-min-parallelism": "2"}}),
        "asks for partial admission",
    ),
    "a template without containers": (batch_job(template={"spec": {}}), "has no containers"),
}


@pytest.mark.parametrize("name", INELIGIBLE)
def test_jobs_that_cannot_be_admitted(name: str) -> None:
    body, message = INELIGIBLE[name]
    assert view(batch_job()).ineligibility is None
    assert message in view(body).ineligibility


def write(of: Body, *workloads: Body) -> Write:
    """Returns the first write of a pass."""
    cluster = make_cluster({kinds.BATCH_JOBS: [of], kinds.WORKLOADS: list(workloads)})
    writes = reconcile(cluster, NOW_MS).writes
    every = (*writes.stops, *writes.before_reservations, *writes.reservations, *writes.template_resets)
    return every[0].write


def workload(*true: str, of: Body | None = None) -> Body:
    return workload_of(view(of or batch_job()), *true)


def test_each_job_gets_a_workload() -> None:
    created = write(batch_job())
    assert isinstance(created, Create)
    assert created.body["metadata"]["name"].startswith("job-demo-")


def test_an_admitted_job_is_resumed_with_its_placement() -> None:
    started = write(batch_job(), workload("QuotaReserved", "Admitted"))
    assert isinstance(started, JsonPatch)
    assert {"op": "add", "path": "/spec/suspend", "value": False} in started.operations
    assert any(o["path"] == "/spec/template/metadata/labels" for o in started.operations)


def test_an_old_start_time_is_reset_before_the_template_changes() -> None:
    """The API server refuses the change otherwise."""
    reset = write(batch_job(STOPPED), workload("QuotaReserved", "Admitted"))
    assert isinstance(reset, MergePatch)
    assert (reset.status, reset.body) == (True, {"status": {"startTime": None}})


def test_a_job_without_quota_is_suspended() -> None:
    stopped = write(batch_job(STARTED, suspend=False), workload())
    assert isinstance(stopped, Overwrite)
    assert stopped.body == {"spec": {"suspend": True}}


def test_ended_pods_release_their_quota() -> None:
    running = batch_job({**STARTED, "ready": 1, "succeeded": 3}, suspend=False)
    released = write(running, workload("QuotaReserved", "Admitted", "PodsReady"))
    assert isinstance(released, MergePatch)
    assert released.body["status"]["reclaimablePods"] == [{"name": "main", "count": 3}]


# running pods, succeeded pods -> pods whose quota is released, of four pods that a user has lowered to two
SHRUNK = {
    "all pods still run": (4, 0, 0),
    "one pod is deleted": (3, 0, 1),
    "both pods are deleted": (2, 0, 2),
    "the others are being replaced": (0, 0, 2),
    "one pod has succeeded": (1, 1, 3),
    "one pod has succeeded, and two still run": (2, 1, 2),
}


@pytest.mark.parametrize("name", SHRUNK)
def test_a_shrunk_job_releases_the_quota_of_deleted_pods(name: str) -> None:
    running, succeeded, released = SHRUNK[name]
    status = {**STARTED, "active": running, "ready": running, "succeeded": succeeded}
    now = batch_job(status, suspend=False, parallelism=2)
    held = workload("QuotaReserved", "Admitted", "PodsReady", of=batch_job(STARTED, suspend=False))
    labels = {"batch.kubernetes.io/job-name": "demo"}
    owners = [controlled_by(kinds.BATCH_JOBS, "demo")]
    uid = held["metadata"]["uid"]
    pods = [
        pod(uid, f"p{i}", labels={WORKLOAD_UID_LABEL: uid, **labels}, ownerReferences=owners)
        for i in range(running)
    ]
    cluster = make_cluster({kinds.BATCH_JOBS: [now], kinds.WORKLOADS: [held], kinds.PODS: pods})
    writes = [planned.write for planned in reconcile(cluster, NOW_MS).writes.before_reservations]
    patches = [write.body["status"] for write in writes if isinstance(write, MergePatch)]
    counts = [count for status in patches for count in status.get("reclaimablePods", ())]
    assert counts == ([{"name": "main", "count": released}] if released else [])


def test_a_submitter_belongs_to_its_ray_job() -> None:
    """KubeRay creates a Job of the RayJob's name; its pods are the RayJob's, and it gets no Workload."""
    submitter = batch_job(meta={"ownerReferences": [controlled_by(kinds.RAY_JOBS, "demo")]})
    cluster = make_cluster({kinds.BATCH_JOBS: [submitter]})
    gang = cluster.job(identity(kinds.BATCH_JOBS, view(submitter).metadata))
    assert gang is not None
    assert not gang.managed
    labels = {"batch.kubernetes.io/job-name": "demo"}
    pod = read(kinds.PODS, {"metadata": {"name": "p", "labels": labels}})
    assert pods_of(kinds.RAY_JOBS, job(ray_job("demo")).obj, (), [pod]) == {"p": "submitter"}
    assert pods_of(kinds.BATCH_JOBS, gang.obj, (), [pod]) == {"p": "main"}


OWNERS = {
    "a CronJob": ("batch/v1", "CronJob", True),
    "a RayCronJob": ("ray.io/v1", "RayCronJob", False),
    "an object of a user": ("example.com/v1", "CronJob", False),
}


@pytest.mark.parametrize("name", OWNERS)
def test_a_job_on_a_schedule_is_no_part_of_it(name: str) -> None:
    version, kind, managed = OWNERS[name]
    owner = {"apiVersion": version, "kind": kind, "name": "nightly", "uid": "1", "controller": True}
    assert view(batch_job(meta={"ownerReferences": [owner]})).managed is managed


def test_roles_allow_the_controller_to_stop_and_start_it() -> None:
    rules = [(rule.resources, rule.verbs) for rule in CLUSTER_RULES if rule.api_groups == ["batch"]]
    assert (["jobs"], ["get", "list", "watch", "patch"]) in rules
    assert (["jobs/status"], ["patch"]) in rules


POLICIES = {p.name: p for p in validating_policies(AdmissionPoliciesArgs("muster", True, 5000))}
PROTECTING = (
    "muster-queued-jobs-can-be-admitted",
    "muster-queued-jobs-stay-as-admitted",
    "muster-queued-job-is-deleted-whole",
    "muster-jobs-claim-no-quota",
    "muster-job-needs-a-queue",
    "muster-jobs-of-gangs-are-kept",
    "muster-jobs-of-gangs-are-deleted-with-them",
    "muster-jobs-use-accelerators-of-queues",
)


@pytest.mark.parametrize("name", PROTECTING)
def test_policies_protect_it_and_let_operators_create_parts(name: str) -> None:
    policy = POLICIES[name]
    assert (policy.group, policy.resources) == ("batch", ("jobs",))
    assert list(policy.exempt_operators) == ["ray", "jobset"]


def test_kai_has_no_queues_for_it() -> None:
    """With KAI no queue label lets a Job request accelerators."""
    name = "muster-jobs-use-accelerators-of-queues"
    args = AdmissionPoliciesArgs("kai", True, 5000)
    of_requests, of_nodes, _ = next(p.rules for p in validating_policies(args) if p.name == name)
    assert of_requests.startswith("false || ")
    assert of_nodes.startswith("false || ")


def test_it_is_suspended_at_creation() -> None:
    mutation = suspending_mutations("muster")["muster-suspend-queued-jobs"]
    assert mutation.applied == "Object{spec: Object.spec{suspend: true}}"
    assert list(mutation.exempt_operators) == ["ray", "jobset"]
