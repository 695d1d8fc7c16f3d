"""Requests for Ray objects to the API server, as a team, the controller or an administrator."""

import copy
import json
from collections.abc import Callable
from typing import Any

import yaml

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.dry_runs import Manifest, Patch, Target, User, connection
from tools.toolchain.paths import CHECKOUT
from tools.toolchain.steps import StepError

ALICE: User = ("--as=alice@example.com", "--as-group=team-a@example.com", "--as-group=system:authenticated")
CONTROLLER: User = (
    "--as=system:serviceaccount:muster-system:muster-controller",
    "--as-group=system:authenticated",
)
ADMIN: User = ()  # KubeRay and Kueue also run as this user in the sandbox

QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
LABELS = {QUEUE: "user-queue", PRIORITY: "dev-priority"}


def example(file: str, name: str) -> Manifest:
    """Returns an example of the repository under this name."""
    manifest: Manifest = yaml.safe_load((CHECKOUT / "examples" / file).read_text())
    manifest["metadata"].pop("generateName", None)
    manifest["metadata"]["name"] = name
    return manifest


def rayjob(name: str = "new") -> Manifest:
    return example("dev-finetune.rayjob.yaml", name)


def raycluster(name: str = "new") -> Manifest:
    return example("dev-notebook.raycluster.yaml", name)


def rayservice(name: str = "new") -> Manifest:
    """Returns a RayService with KubeRay's default upgrade strategy."""
    service = example("vllm-inference.rayservice.yaml", name)
    service["spec"].pop("upgradeStrategy", None)
    return service


def ray_cron_job(namespace: str = "team-a", name: str = "nightly", **template: Any) -> Manifest:
    """Returns a RayCronJob in the queue, whose template has the fields `template`."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCronJob",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(LABELS)},
        "spec": {"schedule": "0 1 * * *", "jobTemplate": rayjob()["spec"] | template},
    }


def of_schedule(cron_job: Manifest, **fields: Any) -> Manifest:
    """Returns a RayJob as KubeRay creates it for the RayCronJob (raycronjob_controller.go:
    constructRayJob)."""
    name = cron_job["metadata"]["name"]
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "name": name, "uid": "1", "controller": True}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {
            "name": f"{name}-x7k2p",
            "namespace": cron_job["metadata"]["namespace"],
            "labels": {"ray.io/cronjob-name": name},
            "ownerReferences": [owner],
        },
        "spec": copy.deepcopy(cron_job["spec"]["jobTemplate"]) | fields,
    }


def unqueued(name: str = "new") -> Manifest:
    return outside_queues(raycluster(name))


def outside_queues(manifest: Manifest) -> Manifest:
    """Removes the queue, and what needs one: the workers' accelerators."""
    manifest["metadata"].pop("labels", None)
    spec = manifest["spec"]
    for group in spec.get("rayClusterSpec", spec.get("rayClusterConfig", spec))["workerGroupSpecs"]:
        for container in group["template"]["spec"]["containers"]:
            for amounts in container["resources"].values():
                amounts.pop("nvidia.com/gpu", None)
    return manifest


def child(name: str = "new", job_uid: str = "1") -> Manifest:
    """Returns a RayCluster as KubeRay creates it for a running RayJob; without the job it is soon deleted."""
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "job", "uid": job_uid, "controller": True}
    cluster = raycluster(name)
    cluster["metadata"]["ownerReferences"] = [owner]
    return cluster


def create(server: Kubectl, user: User, manifest: Manifest) -> Manifest:
    """Creates it as a dry run, and returns the resulting object. Raises StepError if it is refused."""
    return connection(server.kubeconfig).create(manifest, user)


def suspended(manifest: Manifest) -> bool:
    return bool(manifest["spec"].get("rayClusterConfig", manifest["spec"]).get("suspend"))


def message_of(error: StepError) -> str:
    """Returns the message of the policy that refused the request."""
    return str(error).partition("denied request: ")[2].strip()


def refusal(server: Kubectl, user: User, manifest: Manifest) -> str:
    """Creates it as a dry run; returns the message of its refusal, or an empty string."""
    return _refused(lambda: create(server, user, manifest))


def refused_patch(server: Kubectl, user: User, target: Target, patch: Patch) -> str:
    """Patches it as a dry run; returns the message of its refusal, or an empty string."""
    return _refused(lambda: connection(server.kubeconfig).patch(target, patch, user))


def refused_deletion(server: Kubectl, user: User, *arguments: str) -> str:
    """Deletes with these arguments of kubectl; returns the message of the refusal, or an empty string."""
    return _refused(lambda: server.run("delete", *arguments, *user))


def refused_post(server: Kubectl, user: User, path: str, manifest: Manifest) -> str:
    """Posts to a path of the API as a dry run; returns the message of the refusal, or an empty string."""
    arguments = ("create", "--raw", f"{path}?dryRun=All", "--filename=-", *user)
    return _refused(lambda: server.run(*arguments, stdin=json.dumps(manifest)))


def _refused(request: Callable[[], object]) -> str:
    try:
        request()
    except StepError as refused:
        return message_of(refused) or str(refused)
    return ""
