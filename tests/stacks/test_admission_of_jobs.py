"""Tests that a team cannot bypass quota with Jobs, by stack local's policies."""

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.dry_runs import Manifest, Target, User, expect_refusal
from tests.stacks.job_requests import GPU_POD, NAMESPACE, POD, batch_job
from tests.stacks.ray_requests import (
    ADMIN,
    ALICE,
    CONTROLLER,
    create,
    refusal,
    refused_deletion,
    refused_patch,
)
from tests.stacks.updates import Edit, put, remove

UID = "muster.dev/workload-uid"
DELETED_WHOLE = "delete it with the propagation policy Background or Foreground"
PART = "this Job is part of a job that holds quota for it: only KubeRay or the JobSet controller changes"
LEFT = "or they would run on without an owner: delete the job that it belongs to"
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": "2"}
OWNER = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "job", "uid": "1", "controller": True}


def annotated(key: str) -> Manifest:
    job = batch_job()
    job["metadata"]["annotations"] = {key: "1"}
    return job


def owned(job: Manifest, uid: str = "1") -> Manifest:
    return {**job, "metadata": {**job["metadata"], "ownerReferences": [{**OWNER, "uid": uid}]}}


CREATIONS: dict[str, tuple[Manifest, str]] = {
    "a queued Job": (batch_job(), ""),
    "with accelerators": (batch_job(template={"spec": GPU_POD}), ""),
    "with accelerators outside of the queues": (
        batch_job(queue="", template={"spec": GPU_POD}),
        "this Job would use them outside of it: add the label",
    ),
    "with a Workload's label": (batch_job(labels={UID: "1"}), f"the label {UID} is set by admission only"),
    "as part of a RayJob": (owned(batch_job()), "only the Job controller makes a queued Job part of another"),
    "managed by another controller": (batch_job(managedBy="a.b/c"), "is run by the Job controller"),
    "with a selector": (
        batch_job(
            manualSelector=True, labels={"app": "x"}, selector={"matchLabels": {"app": "x"}}, completions=2
        ),
        "could adopt pods of others",
    ),
    "partial admission": (annotated("kueue.x-k8s.io/job-min-parallelism"), "a gang is admitted whole"),
    "on a node": (
        batch_job(template={"spec": {**POD, "nodeName": "n"}}),
        "a queued Job runs where its queue has quota",
    ),
}


@pytest.mark.parametrize("name", CREATIONS)
def test_created_jobs_can_be_admitted(server: Kubectl, name: str) -> None:
    manifest, message = CREATIONS[name]
    refused = refusal(server, ALICE, manifest)
    assert message in refused
    assert bool(refused) == bool(message)


def test_a_queued_job_is_created_suspended(server: Kubectl) -> None:
    assert create(server, ALICE, batch_job())["spec"]["suspend"] is True


def test_kuberays_submitters_are_not_suspended(server: Kubectl) -> None:
    """KubeRay runs as the administrator of the test's cluster."""
    submitter = owned(batch_job(queue="", labels={UID: "1"}))
    assert create(server, ADMIN, submitter)["spec"]["suspend"] is False


@pytest.fixture(scope="module")
def jobs(server: Kubectl) -> Kubectl:
    """Adds a submitter of a RayJob, and an Indexed Job with as many completions as parallelism."""
    uid = server.run("get", "rayjob/job", "--namespace=team-a", "-o", "jsonpath={.metadata.uid}")
    indexed = batch_job("indexed", completions=2, completionMode="Indexed")
    server.create([owned(batch_job("submitter", queue="", labels={UID: "1"}), uid), indexed])
    return server


EDITS = (
    Edit("resume", "queued", put("/spec/suspend", False), "spec.suspend of a queued Job is managed by its"),
    Edit("grow", "queued", put("/spec/parallelism", 3), "a queued Job cannot grow"),
    Edit("shrink", "queued", put("/spec/parallelism", 1)),
    Edit("leave the queue", "queued", remove("/metadata/labels"), "a Job stays in the queue it was"),
    Edit(
        "choose nodes",
        "queued",
        put("/spec/template/spec/nodeSelector", {"pool": "gpu"}),
        "the pods of a queued Job keep their resources and nodeSelector",
    ),
    Edit(
        "mark pods",
        "queued",
        put("/spec/template/metadata/labels/muster.dev~1workload-uid", "1"),
        f"label {UID}",  # by whichever of two policies is evaluated first
    ),
    Edit(
        "set an owner",
        "queued",
        put("/metadata/ownerReferences", [OWNER]),
        "only the Job controller makes a queued Job part of another object",
    ),
    Edit("grow a submitter", "submitter", put("/spec/parallelism", 50), PART),
    Edit("detach a submitter", "submitter", remove("/metadata/ownerReferences"), PART),
    Edit(
        "let a submitter outlive its job by another owner",
        "submitter",
        put("/metadata/ownerReferences/-", CONFIG),
        PART,
    ),
    Edit("keep a deleted submitter", "submitter", put("/metadata/finalizers", ["a.b/c"]), PART),
    Edit("label a submitter", "submitter", put("/metadata/labels/a", "b")),
)


@pytest.mark.parametrize("case", EDITS, ids=str)
def test_a_team_cannot_change_what_quota_is_reserved_for(jobs: Kubectl, case: Edit) -> None:
    target = Target("batch/v1", "job", case.target, NAMESPACE)
    refused = refused_patch(jobs, ALICE, target, [case.patch])
    assert case.message in refused
    assert bool(refused) == bool(case.message)


# new parallelism and completions of the Job, which has two of both -> why they are refused
SIZES = {
    "shrunk": (1, 1, ""),
    "grown": (3, 3, "delete it and create it again"),
    "fewer completions": (2, 1, "can only be modified in tandem with spec.parallelism"),  # by the API server
}


@pytest.mark.parametrize("name", SIZES)
def test_an_indexed_job_may_shrink(jobs: Kubectl, name: str) -> None:
    parallelism, completions, message = SIZES[name]
    target = Target("batch/v1", "job", "indexed", NAMESPACE)
    sizes = {"spec": {"parallelism": parallelism, "completions": completions}}
    expect_refusal(refused_patch(jobs, ALICE, target, sizes), message)


def test_the_controller_resumes_it(jobs: Kubectl) -> None:
    target = Target("batch/v1", "job", "queued", NAMESPACE)
    placed = put("/spec/template/spec/nodeSelector", {"pool": "gpu"})
    assert refused_patch(jobs, CONTROLLER, target, [placed, put("/spec/suspend", False)]) == ""


def test_the_controller_resets_the_start_time(jobs: Kubectl) -> None:
    target = Target("batch/v1", "job", "queued", NAMESPACE, "status")
    assert refused_patch(jobs, CONTROLLER, target, {"status": {"startTime": None}}) == ""


@pytest.mark.parametrize(
    ("cascade", "message"), [("orphan", DELETED_WHOLE), ("foreground", ""), ("background", "")]
)
def test_a_job_is_deleted_with_its_pods(jobs: Kubectl, cascade: str, message: str) -> None:
    at = ("job/queued", f"--namespace={NAMESPACE}", "--dry-run=server", f"--cascade={cascade}")
    expect_refusal(refused_deletion(jobs, ALICE, *at), message)


def test_a_deletion_without_a_policy_would_orphan_its_pods(jobs: Kubectl) -> None:
    """kubectl always sends one, other clients do not."""
    path = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/queued?dryRun=All"
    assert DELETED_WHOLE in refused_deletion(jobs, ALICE, "--raw", path)


# the submitter's deletion: the user, the propagation policy -> why it is refused
SUBMITTER: dict[str, tuple[User, str, str]] = {
    "its pods orphaned": (ALICE, "orphan", LEFT),
    "with its pods": (ALICE, "background", LEFT),
    "by the controller": (CONTROLLER, "background", ""),
    "by an administrator": (ADMIN, "background", ""),
}


@pytest.mark.parametrize("name", SUBMITTER)
def test_a_submitter_is_deleted_with_its_job(jobs: Kubectl, name: str) -> None:
    user, cascade, message = SUBMITTER[name]
    options = (f"--namespace={NAMESPACE}", "--dry-run=server", f"--cascade={cascade}")
    expect_refusal(refused_deletion(jobs, user, "job/submitter", *options), message)
