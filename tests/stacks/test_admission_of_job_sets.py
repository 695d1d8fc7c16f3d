"""Tests that a team cannot bypass quota with JobSets or the Jobs of one, by stack local's policies."""

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.dry_runs import Manifest, Target, expect_refusal
from tests.stacks.job_requests import GPU_POD, NAMESPACE, POD, batch_job, job_set, replicated_job
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
DOMAIN = "jobset.sigs.k8s.io"
API = "jobset.x-k8s.io/v1alpha2"
PART = "this Job is part of a job that holds quota for it: only KubeRay or the JobSet controller changes"
RECREATED = "KubeRay or the JobSet controller might recreate it before its pods are gone"
OWNER = {"apiVersion": API, "kind": "JobSet", "name": "queued", "uid": "1", "controller": True}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": "2"}
WITH_GPUS = [replicated_job(pod=GPU_POD)]
CLAIM = {"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteMany"], "resources": {}}}


def part(name: str = "part", uid: str = "1", **labels: str) -> Manifest:
    """Returns a Job as the JobSet controller creates it, with quota."""
    job = batch_job(name, queue="", labels={UID: "1"})
    job["metadata"] |= {
        "labels": {f"{DOMAIN}/jobset-uid": uid, **labels},
        "ownerReferences": [{**OWNER, "uid": uid}],
    }
    return job


def of_a_set(job: Manifest) -> Manifest:
    return {**job, "metadata": {**job["metadata"], "labels": {f"{DOMAIN}/jobset-uid": "1"}}}


CREATIONS: dict[str, tuple[Manifest, str]] = {
    "a queued JobSet": (job_set(), ""),
    "with accelerators": (job_set(replicatedJobs=WITH_GPUS), ""),
    "with accelerators outside of the queues": (
        job_set(queue="", replicatedJobs=WITH_GPUS),
        "this JobSet would use them outside of it: add the label",
    ),
    "with accelerators in the second Job": (
        job_set(queue="", replicatedJobs=[replicated_job("leader"), *WITH_GPUS]),
        "this JobSet would use them outside of it: add the label",
    ),
    "with a Workload's label": (job_set(labels={UID: "1"}), f"the label {UID} is set by admission only"),
    "managed by another controller": (job_set(managedBy="a.b/c"), "is run by the JobSet controller"),
    "on a node": (
        job_set(replicatedJobs=[replicated_job(pod={**POD, "nodeName": "n"})]),
        "a queued JobSet runs where its queue has quota",
    ),
    "without containers": (
        job_set(replicatedJobs=[{"name": "empty", "template": {"spec": {"template": {}}}}]),
        "each pod template of a queued JobSet needs a container",
    ),
    "more replicated jobs than pod sets": (
        job_set(replicatedJobs=[replicated_job(f"j{i}") for i in range(19)]),
        "a queued JobSet has at most 18 replicated jobs",
    ),
    "a Job that claims to be of a JobSet": (
        of_a_set(batch_job(queue="")),
        "are reserved for Jobs that the JobSet controller creates",
    ),
}


@pytest.mark.parametrize("name", CREATIONS)
def test_created_job_sets_can_be_admitted(server: Kubectl, name: str) -> None:
    manifest, message = CREATIONS[name]
    refused = refusal(server, ALICE, manifest)
    assert message in refused
    assert bool(refused) == bool(message)


def test_a_queued_job_set_is_created_suspended(server: Kubectl) -> None:
    assert create(server, ALICE, job_set())["spec"]["suspend"] is True


def test_its_claims_need_storage(server: Kubectl) -> None:
    manifest = job_set(volumeClaimPolicies=[{"templates": [CLAIM]}])
    manifest["metadata"]["namespace"] = "team-a-unclaimed"
    refused = refusal(server, ADMIN, {**manifest, "metadata": {**manifest["metadata"], "labels": {}}})
    assert "not spec.volumeClaimPolicies" in refused


def test_its_jobs_are_not_suspended(server: Kubectl) -> None:
    """The JobSet controller runs as the administrator of the test's cluster."""
    queued = part(**{"kueue.x-k8s.io/queue-name": "user-queue"})
    assert create(server, ADMIN, queued)["spec"]["suspend"] is False


@pytest.fixture(scope="module")
def sets(server: Kubectl) -> Kubectl:
    """Adds two Jobs of a JobSet, with quota and still without."""
    uid = server.run("get", "jobset/queued", "--namespace=team-a", "-o", "jsonpath={.metadata.uid}")
    waiting = part("waiting", uid)
    del waiting["spec"]["template"]["metadata"]["labels"][UID]
    server.create([part("running", uid), {**waiting, "spec": {**waiting["spec"], "suspend": True}}])
    return server


JOBS = "/spec/replicatedJobs"
PODS = f"{JOBS}/0/template/spec/template"
EDITS = (
    Edit(
        "resume",
        "jobset/queued",
        put("/spec/suspend", False),
        "spec.suspend of a queued JobSet is managed",
    ),
    Edit("more Jobs", "jobset/queued", put(f"{JOBS}/0/replicas", 3), "a queued JobSet cannot grow"),
    Edit(
        "larger Jobs",
        "jobset/queued",
        put(f"{JOBS}/0/template/spec/parallelism", 3),
        "a queued JobSet cannot grow",
    ),
    Edit(
        "another replicated job",
        "jobset/queued",
        put(f"{JOBS}/1", replicated_job("more")),
        "a queued JobSet cannot grow",
    ),
    Edit("fewer Jobs", "jobset/queued", put(f"{JOBS}/0/replicas", 1)),
    Edit(
        "more completions",
        "jobset/queued",
        put(f"{JOBS}/0/template/spec/completions", 50),
        "the replicated jobs of a queued JobSet keep template.spec.completions",
    ),
    Edit(
        "unlimited restarts",
        "jobset/queued",
        put("/spec/failurePolicy", {"maxRestarts": 100}),
        "a queued JobSet keeps spec.network, spec.successPolicy, spec.failurePolicy",
    ),
    Edit("leave the queue", "jobset/queued", remove("/metadata/labels"), "a JobSet stays in the queue it"),
    Edit(
        "choose nodes",
        "jobset/queued",
        put(f"{PODS}/spec/nodeSelector", {"pool": "gpu"}),
        "the pods of a queued JobSet keep their resources and nodeSelector",
    ),
    Edit(
        "choose a domain",
        "jobset/queued",
        put("/metadata/annotations", {f"alpha.{DOMAIN}/exclusive-topology": "rack"}),
        "keeps its labels and annotations jobset.sigs.k8s.io/…, alpha.jobset.sigs.k8s.io/…",
    ),
    Edit("mark pods", "jobset/queued", put(f"{PODS}/metadata/labels", {UID: "1"}), f"label {UID}"),
    Edit("grow a Job", "job/running", put("/spec/parallelism", 50), PART),
    Edit("detach a Job", "job/running", remove("/metadata/ownerReferences"), PART),
    Edit(
        "let a Job outlive its JobSet by another owner",
        "job/running",
        put("/metadata/ownerReferences/-", CONFIG),
        PART,
    ),
    Edit("keep a deleted Job by a finalizer", "job/running", put("/metadata/finalizers", ["a.b/c"]), PART),
    Edit(
        "let its controller recreate a Job",
        "job/running",
        put(f"/metadata/labels/{DOMAIN}~1restart-attempt", "9"),
        PART,
    ),
    Edit("mark a Job as Muster's", "job/running", put("/metadata/annotations", {"muster.dev/a": "b"}), PART),
    Edit("start a waiting Job", "job/waiting", put("/spec/suspend", False), PART),
    Edit("keep a waiting Job", "job/waiting", put("/metadata/finalizers", ["a.b/c"]), PART),
    Edit("label a Job", "job/running", put("/metadata/labels/a", "b")),
)


@pytest.mark.parametrize("case", EDITS, ids=str)
def test_a_team_cannot_change_what_quota_is_reserved_for(sets: Kubectl, case: Edit) -> None:
    kind, _, name = case.target.partition("/")
    target = Target(API if kind == "jobset" else "batch/v1", kind, name, NAMESPACE)
    refused = refused_patch(sets, ALICE, target, [case.patch])
    assert case.message in refused
    assert bool(refused) == bool(case.message)


def test_the_controller_resumes_it(sets: Kubectl) -> None:
    target = Target(API, "jobset", "queued", NAMESPACE)
    placed = put(f"{PODS}/spec/nodeSelector", {"pool": "gpu"})
    marked = put(f"{PODS}/metadata/labels", {UID: "1"})
    assert refused_patch(sets, CONTROLLER, target, [placed, marked, put("/spec/suspend", False)]) == ""


# the object, the user -> why it may not be deleted
DELETIONS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "a Job with quota": ("job/running", ALICE, RECREATED),
    "a Job without pods": ("job/waiting", ALICE, ""),
    "the JobSet": ("jobset/queued", ALICE, ""),
    "by the controller": ("job/running", CONTROLLER, ""),
    "by an administrator": ("job/running", ADMIN, ""),
}


@pytest.mark.parametrize("name", DELETIONS)
def test_jobs_are_deleted_with_their_job_set(sets: Kubectl, name: str) -> None:
    target, user, message = DELETIONS[name]
    expect_refusal(
        refused_deletion(sets, user, target, f"--namespace={NAMESPACE}", "--dry-run=server"), message
    )
