"""The containers that KubeRay adds to the pods of a gang. They use the gang's quota like the user's own.

Source: KubeRay v1.6.2 ray-operator/controllers/ray/common/pod.go (DefaultHeadPodTemplate,
DefaultWorkerPodTemplate), common/job.go (GetDefaultSubmitterContainer), rayjob_controller.go
(constructRayClusterForRayJob) and raycluster_controller.go (buildRedisCleanupJob). KubeRay's own
configuration is not visible here: the init container counts even if its injection is turned off
(ENABLE_INIT_CONTAINER_INJECTION), and the sidecars in headSidecarContainers do not count.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from muster.objects.pods import Template, encode_template
from muster.objects.ray import AutoscalerOptions

Body = dict[str, Any]


def _equal(cpu: str, memory: str) -> Body:
    return {amount: {"cpu": cpu, "memory": memory} for amount in ("limits", "requests")}


SUBMITTER_RESOURCES = {
    "limits": {"cpu": "1", "memory": "1Gi"},
    "requests": {"cpu": "500m", "memory": "200Mi"},
}
AUTOSCALER_RESOURCES = _equal("500m", "512Mi")
WAIT_RESOURCES = CLEANUP_RESOURCES = _equal("200m", "256Mi")


def submitter(head: Template) -> Body:
    """Returns the container that submits a RayJob; it runs in the pod of a Job or, in SidecarMode, in the
    head."""
    image = _ray_container(head).get("image", "")
    return {"name": "ray-job-submitter", "image": image, "resources": SUBMITTER_RESOURCES}


def autoscaler(head: Template, options: AutoscalerOptions) -> Body:
    """Returns the autoscaler's container in the head; the user's options replace the default resources
    entirely."""
    image = options.image or _ray_container(head).get("image", "")
    resources = AUTOSCALER_RESOURCES if options.resources is None else options.resources
    context = {"securityContext": options.security_context} if options.security_context is not None else {}
    return {"name": "autoscaler", "image": image, "resources": resources, **context}


def wait_for_head(worker: Template) -> Body:
    """Returns the last init container of a worker, which waits for the head."""
    ray = _ray_container(worker)
    inherited = {key: ray[key] for key in ("image", "securityContext") if key in ray}
    return {"name": "wait-gcs-ready", "resources": WAIT_RESOURCES, **inherited}


def redis_cleanup(head: Template) -> Body:
    """Returns an init container that represents the pod of KubeRay's Redis clean-up Job.

    That pod runs after the head's, with the head's init containers and sidecars and only this container. As
    the last init container of the head, it makes the head's requests the larger of both pods."""
    image = _ray_container(head).get("image", "")
    return {"name": "redis-cleanup", "image": image, "resources": CLEANUP_RESOURCES}


def with_containers(
    template: Template, containers: Iterable[Body], init_containers: Iterable[Body]
) -> Template:
    """Returns the template with these containers appended."""
    added = {"containers": list(containers), "initContainers": list(init_containers)}
    if not any(added.values()):
        return template
    whole: Body = msgspec.json.decode(template)
    spec: Body = {**(whole.get("spec") or {})}
    for field, new in added.items():
        if new:
            spec[field] = [*(spec.get(field) or ()), *new]
    return encode_template({**whole, "spec": spec})


def taken_names(template: Template, added: Iterable[Body]) -> list[str]:
    """Returns the names of `added` containers that the template already uses."""
    spec = msgspec.json.decode(template).get("spec") or {}
    existing = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    names = {container.get("name", "") for container in existing}
    return [container["name"] for container in added if container["name"] in names]


def _ray_container(template: Template) -> Mapping[str, Any]:
    """Returns the first container, which runs Ray; empty if there is none."""
    containers = (msgspec.json.decode(template).get("spec") or {}).get("containers") or [{}]
    first: Mapping[str, Any] = containers[0]
    return first
