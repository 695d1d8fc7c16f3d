"""Objects with accelerators in a tenant's namespace outside the queues, for requests to the API server."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from tests.stacks.autoscaler_rights import existing, granted
from tests.stacks.dry_runs import EFFECT_SECONDS_MAX, Manifest, User
from tests.stacks.job_requests import NAMESPACE, batch_job, job_set, leader_worker_set, replicated_job
from tests.stacks.ray_requests import refusal
from tests.stacks.worker_groups import group

# Has the rights of `edit` in team-a, by an administrator's Role; a team has none on these objects.
DAVE: User = ("--as=dave@example.com", "--as-group=system:authenticated")
SUBJECT = {"kind": "User", "name": "dave@example.com", "apiGroup": "rbac.authorization.k8s.io"}
GROUPS = ["", "apps", "batch", "ray.io", "jobset.x-k8s.io", "leaderworkerset.x-k8s.io"]
RULES = [{"apiGroups": GROUPS, "resources": ["*"], "verbs": ["*"]}]
DEVICE: Manifest = {"resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}}
ALLOWED = "allowed"
REMEDY = "ask an administrator to add it to muster:tenants[].unqueued"


def container(name: str = "main", **fields: Any) -> Manifest:
    return {"name": name, "image": "busybox", **fields}


PLAIN = {"containers": [container()]}
RAY_CLUSTERS = {"RayJob": "rayClusterSpec", "RayCluster": "", "RayService": "rayClusterConfig"}
PODS: dict[str, Manifest] = {
    "a GPU": {"containers": [container(**DEVICE)]},
    "a GPU in an init container": {"containers": [container()], "initContainers": [container("i", **DEVICE)]},
    "a claim": {**PLAIN, "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]},
}


def pod(name: str, spec: Manifest) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def replicated(kind: str, version: str = "apps/v1") -> Callable[[str, Manifest], Manifest]:
    def make(name: str, spec: Manifest) -> Manifest:
        template = {"metadata": {"labels": {"app": name}}, "spec": spec}
        selector = {"app": name} if version == "v1" else {"matchLabels": {"app": name}}
        body: Manifest = {"selector": selector, "template": template}
        metadata = {"name": name, "namespace": NAMESPACE}
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": body}

    return make


def unqueued_job(name: str, spec: Manifest) -> Manifest:
    return batch_job(name, queue="", template={"spec": {"restartPolicy": "Never", **spec}})


def unqueued_job_set(name: str, spec: Manifest) -> Manifest:
    jobs = [replicated_job("leader"), replicated_job(pod={"restartPolicy": "Never", **spec})]
    return job_set(name, queue="", replicatedJobs=jobs)


def unqueued_leader_worker_set(name: str, spec: Manifest) -> Manifest:
    return leader_worker_set(name, queue="", leader=PLAIN, worker=spec)


def ray(
    kind: str, name: str, *, head: Manifest = PLAIN, workers: Manifest = PLAIN, **cluster: Any
) -> Manifest:
    """Returns a Ray object outside the queues with these pods, and these further fields of its cluster."""
    path = RAY_CLUSTERS[kind]
    groups = [
        group(name_of_group, maxReplicas=4) | {"template": {"spec": spec}}
        for name_of_group, spec in (("cpu", PLAIN), ("workers", workers))
    ]
    cluster |= {
        "headGroupSpec": {"rayStartParams": {}, "template": {"spec": head}},
        "workerGroupSpecs": groups,
    }
    metadata = {"name": name, "namespace": NAMESPACE}
    return {
        "apiVersion": "ray.io/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": {path: cluster} if path else cluster,
    }


def with_workers(kind: str) -> Callable[[str, Manifest], Manifest]:
    return lambda name, spec: ray(kind, name, workers=spec)


MAKERS: dict[str, Callable[[str, Manifest], Manifest]] = {
    "Pod": pod,
    **{kind: with_workers(kind) for kind in RAY_CLUSTERS},
    "Job": unqueued_job,
    "JobSet": unqueued_job_set,
    "LeaderWorkerSet": unqueued_leader_worker_set,
    "Deployment": replicated("Deployment"),
    "StatefulSet": replicated("StatefulSet"),
    "DaemonSet": replicated("DaemonSet"),
    "ReplicaSet": replicated("ReplicaSet"),
    "ReplicationController": replicated("ReplicationController", "v1"),
}


@contextmanager
def allowed_by_name(server: Kubectl) -> Iterator[None]:
    """Allows an object of each kind by name, as `unqueued` does, and gives DAVE the rights to create them."""
    labels = [f"{kind.lower()}.unqueued.muster.dev/{ALLOWED}" for kind in MAKERS]
    server.run("label", "namespace", NAMESPACE, *(f"{label}=true" for label in labels))
    try:
        with existing(server, granted("dave", RULES, SUBJECT)):
            allowed = MAKERS["Pod"](ALLOWED, PODS["a GPU"])
            wait_until("the labels", lambda: not refusal(server, DAVE, allowed), EFFECT_SECONDS_MAX)
            yield
    finally:
        server.run("label", "namespace", NAMESPACE, *(f"{label}-" for label in labels))
