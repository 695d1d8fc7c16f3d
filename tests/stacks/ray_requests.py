"""Requests for Ray objects as a team, the controller and administrators make them to the API server."""

import json
from typing import Any

import yaml

from sandbox.cluster.kubectl import Kubectl
from sandbox.toolchain.paths import CHECKOUT
from sandbox.toolchain.steps import StepError

Manifest = dict[str, Any]
Who = tuple[str, ...]

ALICE: Who = ("--as=alice@example.com", "--as-group=team-a@example.com", "--as-group=system:authenticated")
CONTROLLER: Who = (
    "--as=system:serviceaccount:muster-system:muster-controller",
    "--as-group=system:authenticated",
)
ADMIN: Who = ()  # as which KubeRay and Kueue run in the sandbox

QUEUE = "kueue.x-k8s.io/queue-name"


def example(file: str, name: str) -> Manifest:
    """An example of the repository under this name."""
    manifest: Manifest = yaml.safe_load((CHECKOUT / "examples" / file).read_text())
    manifest["metadata"].pop("generateName", None)
    manifest["metadata"]["name"] = name
    return manifest


def rayjob(name: str = "new") -> Manifest:
    return example("dev-finetune.rayjob.yaml", name)


def raycluster(name: str = "new") -> Manifest:
    return example("dev-notebook.raycluster.yaml", name)


def rayservice(name: str = "new") -> Manifest:
    """One that KubeRay would upgrade as it does by default."""
    service = example("vllm-inference.rayservice.yaml", name)
    service["spec"].pop("upgradeStrategy", None)
    return service


def unqueued(name: str = "new") -> Manifest:
    cluster = raycluster(name)
    del cluster["metadata"]["labels"]
    return cluster


def child(name: str = "new", job_uid: str = "1") -> Manifest:
    """A RayCluster as KubeRay makes it for a RayJob that runs; without the job it is soon collected."""
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "job", "uid": job_uid, "controller": True}
    cluster = raycluster(name)
    cluster["metadata"]["ownerReferences"] = [owner]
    return cluster


def create(server: Kubectl, who: Who, manifest: Manifest) -> Manifest:
    """Creates it on trial; the object as it would be kept. Raises StepError when it is refused."""
    arguments = ("create", "--dry-run=server", "-o", "json", "-f", "-", *who)
    kept: Manifest = json.loads(server.run(*arguments, given=json.dumps(manifest)))
    return kept


def suspended(kept: Manifest) -> bool:
    return bool(kept["spec"].get("rayClusterConfig", kept["spec"]).get("suspend"))


def said(error: StepError) -> str:
    """What the policy that refused it says."""
    return str(error).partition("denied request: ")[2].strip()


def refusal(server: Kubectl, who: Who, manifest: Manifest) -> str:
    """Creates it on trial; what refuses it says, or nothing."""
    try:
        create(server, who, manifest)
    except StepError as refused:
        return said(refused) or str(refused)
    return ""
