"""Ray objects with accelerators outside the queues, by stack local's policies: refused when they are written,
as KubeRay may create any pods for them."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.accelerator_requests import (
    ALLOWED,
    DEVICE,
    PODS,
    RAY_CLUSTERS,
    REMEDY,
    allowed_by_name,
    ray,
)
from tests.stacks.dry_runs import Manifest, Target, User
from tests.stacks.job_requests import NAMESPACE
from tests.stacks.ray_requests import ADMIN, ALICE, QUEUE, rayjob, refusal, refused_patch
from tests.stacks.updates import Edit, put

GPU = PODS["a GPU"]
LABEL = f"add the label {QUEUE} with the name of a queue (kubectl get localqueues)"
ADDED: Manifest = {"enableInTreeAutoscaling": True, "autoscalerOptions": DEVICE}
CPU = {"resources": {"limits": {"cpu": "1"}}}


@pytest.mark.parametrize("kind", RAY_CLUSTERS)
def test_the_message_names_the_object_and_both_remedies(server: Kubectl, kind: str) -> None:
    assert refusal(server, ALICE, ray(kind, "other", workers=GPU)) == (
        f"in this namespace accelerators have a quota, but this {kind} would use them outside of it: "
        f"{LABEL}, or {REMEDY}"
    )


def submitted(name: str = "other", submitter: Manifest = GPU) -> Manifest:
    job = ray("RayJob", name)
    job["spec"] |= {
        "entrypoint": "true",
        "submitterPodTemplate": {"spec": {"restartPolicy": "Never", **submitter}},
    }
    return job


def queued(manifest: Manifest) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "labels": {QUEUE: "user-queue"}}}


def created_by_kuberay(server: Kubectl, name: str) -> Manifest:
    """Returns the RayCluster of a RayJob outside the queues."""
    uid = server.run("get", "rayjob/job", f"--namespace={NAMESPACE}", "-o", "jsonpath={.metadata.uid}")
    cluster = ray("RayCluster", name, workers=GPU)
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "job", "uid": uid, "controller": True}
    cluster["metadata"]["ownerReferences"] = [owner]
    return cluster


class Creation(NamedTuple):
    name: str
    manifest: Manifest
    message: str = ""
    user: User = ALICE

    def __str__(self) -> str:
        return self.name


CREATIONS = (
    *(Creation(f"a {kind}'s head", ray(kind, "a", head=GPU), LABEL) for kind in RAY_CLUSTERS),
    *(
        Creation(f"a {kind}'s autoscaler", ray(kind, "a", **ADDED), f"this {kind} (spec.")
        for kind in RAY_CLUSTERS
    ),
    Creation("a submitter", submitted(), "this RayJob would use them"),
    Creation("a submitter, named", submitted(ALLOWED)),
    Creation("an autoscaler, named", ray("RayCluster", ALLOWED, **ADDED)),
    Creation("a kind of another name", ray("RayCluster", "another", workers=GPU), LABEL),
    Creation("an administrator", ray("RayCluster", "a", workers=GPU), LABEL, ADMIN),
    Creation("in a queue", queued(ray("RayCluster", "a", workers=GPU))),
    Creation(
        "an empty queue",
        {**rayjob(), "metadata": {"name": "a", "namespace": NAMESPACE, "labels": {QUEUE: ""}}},
        LABEL,
    ),
    Creation(
        "an autoscaler of CPUs", ray("RayCluster", "a", enableInTreeAutoscaling=True, autoscalerOptions=CPU)
    ),
    Creation("no accelerators", ray("RayService", "a")),
)


@pytest.fixture(scope="module")
def clusters(server: Kubectl) -> Iterator[Kubectl]:
    """Adds a RayCluster of a RayJob outside the queues, by KubeRay, and one without accelerators."""
    manifests = [created_by_kuberay(server, "of-a-job"), ray("RayCluster", "cpu")]
    server.create(manifests)
    try:
        with allowed_by_name(server):
            yield server
    finally:
        server.run("delete", "raycluster", "of-a-job", "cpu", f"--namespace={NAMESPACE}")


@pytest.mark.parametrize("case", CREATIONS, ids=str)
def test_created_ray_objects_use_accelerators_of_queues(clusters: Kubectl, case: Creation) -> None:
    refused = refusal(clusters, case.user, case.manifest)
    assert case.message in refused
    assert bool(refused) is bool(case.message), refused


def test_kuberay_creates_the_cluster_of_a_job_that_was_checked(clusters: Kubectl) -> None:
    assert refusal(clusters, ADMIN, created_by_kuberay(clusters, "next")) == ""


def test_a_user_does_not_pass_for_kuberay(clusters: Kubectl) -> None:
    assert LABEL in refusal(clusters, ALICE, created_by_kuberay(clusters, "next"))


HEAD = "/spec/headGroupSpec/template/spec/containers/0/resources"
EDITS = (
    Edit("replicas", "of-a-job", put("/spec/workerGroupSpecs/1/replicas", 2)),
    Edit("more devices", "of-a-job", put(HEAD, DEVICE["resources"]), LABEL),
    Edit("another group", "cpu", put("/spec/workerGroupSpecs/1/template/spec", GPU), LABEL),
    Edit("devices of the autoscaler", "cpu", put("/spec/autoscalerOptions", DEVICE), "RayCluster (spec.auto"),
    Edit("replicas without accelerators", "cpu", put("/spec/workerGroupSpecs/1/replicas", 2)),
    Edit("metadata", "of-a-job", put("/metadata/annotations", {"a": "b"})),
)


@pytest.mark.parametrize("case", EDITS, ids=str)
def test_accelerators_are_not_added_to_ray_clusters_later(clusters: Kubectl, case: Edit) -> None:
    target = Target("ray.io/v1", "RayCluster", case.target, NAMESPACE)
    refused = refused_patch(clusters, ALICE, target, [case.patch])
    assert case.message in refused
    assert bool(refused) is bool(case.message), refused
