"""The containers that KubeRay adds to the pods of a gang: they run on its quota like those of its user.

Source: KubeRay v1.6.2 ray-operator/controllers/ray/common/pod.go (DefaultHeadPodTemplate,
DefaultWorkerPodTemplate), common/job.go (GetDefaultSubmitterContainer), rayjob_controller.go
(constructRayClusterForRayJob) and raycluster_controller.go (buildRedisCleanupJob). KubeRay's own settings are
not visible here: the init container counts even if its injection is turned off
(ENABLE_INIT_CONTAINER_INJECTION), and the sidecars of its headSidecarContainers do not count.
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
    """Returns the container that submits a RayJob: of a Job's pod, or with SidecarMode of the head."""
    image = _ray_container(head).get("image", "")
    return {"name": "ray-job-submitter", "image": image, "resources": SUBMITTER_RESOURCES}


def autoscaler(head: Template, options: AutoscalerOptions) -> Body:
    """Returns the autoscaler's container in the head; its user's options replace the resources as a whole."""
    image = options.image or _ray_container(head).get("image", "")
    resources = AUTOSCALER_RESOURCES if options.resources is None else options.resources
    own = {"securityContext": options.security_context} if options.security_context is not None else {}
    return {"name": "autoscaler", "image": image, "resources": resources, **own}


def wait_for_head(worker: Template) -> Body:
    """Returns the init container by which a worker waits for the head, the last of its init containers."""
    ray = _ray_container(worker)
    inherited = {key: ray[key] for key in ("image", "securityContext") if key in ray}
    return {"name": "wait-gcs-ready", "resources": WAIT_RESOURCES, **inherited}


def redis_cleanup(head: Template) -> Body:
    """Returns an init container with the requests of the pod of KubeRay's Redis clean-up Job.

    That pod follows the head's: it has the head's init containers, but only this container beside their
    sidecars. So the head counts as the larger of both pods, as with a last init container."""
    image = _ray_container(head).get("image", "")
    return {"name": "redis-cleanup", "image": image, "resources": CLEANUP_RESOURCES}


def with_containers(
    template: Template, containers: Iterable[Body], init_containers: Iterable[Body]
) -> Template:
    """Returns the template with these containers after its own."""
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
    """Returns the names of these containers that the template's own have too."""
    spec = msgspec.json.decode(template).get("spec") or {}
    of_user = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    names = {container.get("name", "") for container in of_user}
    return [container["name"] for container in added if container["name"] in names]


def _ray_container(template: Template) -> Mapping[str, Any]:
    """Returns the first container, which runs Ray; empty if there is none."""
    containers = (msgspec.json.decode(template).get("spec") or {}).get("containers") or [{}]
    first: Mapping[str, Any] = containers[0]
    return first
