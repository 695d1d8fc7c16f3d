"""Policies by which pods of tenants have accelerators only on quota of a queue.

Each object is checked when it is written: jobs of all kinds, pods, and Kubernetes' other objects that create
pods. What KubeRay, the JobSet controller or a controller of Kubernetes creates for an object that was checked
is exempt. All other controllers create pods or Jobs, which are checked as if users had created them.
Pods outside the queues stay off the nodes of accelerators too, and no pod gets devices without a request.
"""

from collections.abc import Callable
from dataclasses import dataclass

from components.admission.ray import (
    Engine,
    Policy,
    is_trusted,
    may_write_status,
    queue_of,
    requests_of,
    spec_is_written,
    spec_is_written_by_users,
    suspends,
    users_of,
    values_at,
)
from components.admission.templates import from_old_object, template_variables
from components.admission.unrequested import (
    OFF_ACCELERATORS,
    REQUESTED_ONLY,
    has_requested_devices_only,
    stays_off_accelerators,
)
from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.kinds import JOB_KINDS
from muster.objects.names import QUEUE_LABEL, WORKLOAD_UID_LABEL, unqueued_label
from settings.model.tenants.tenant import TENANT

SETTING = "muster:tenants[].unqueued"
# Parts of a RayClusterSpec with resources of containers that KubeRay adds to pods, the second from 1.7 on.
ADDED_CONTAINERS = ("autoscalerOptions", "historyServerOptions.collectorOptions")


@dataclass(frozen=True)
class PodOwner:
    """A kind of Kubernetes' own with pods: the path of their template, and the resources of the API group
    `apps` or, with a slash, of others for which controllers create objects of this kind."""

    name: str
    group: str
    plural: str
    template: str = "object.spec.template"
    created_for: tuple[str, ...] = ()


def _created_for(pod_controller: str) -> tuple[str, ...]:
    return tuple(
        f"{kind.kind.group}/{kind.plural}"
        for kind in JOB_KINDS
        if kind.pod_controller is not None and kind.pod_controller.plural == pod_controller
    )


POD_OWNERS = (
    PodOwner(
        "Pod",
        "",
        "pods",
        "object",
        ("replicasets", "statefulsets", "daemonsets", "batch/jobs", "/replicationcontrollers"),
    ),
    PodOwner("Deployment", "apps", "deployments"),
    PodOwner("StatefulSet", "apps", "statefulsets", created_for=_created_for("statefulsets")),
    PodOwner("DaemonSet", "apps", "daemonsets"),
    PodOwner("ReplicaSet", "apps", "replicasets", created_for=("deployments",)),
    PodOwner("ReplicationController", "", "replicationcontrollers"),
)


def accelerators_need_a_queue(engine: Engine) -> list[Policy]:
    """Returns the policies for all tenants, whose namespaces name the exceptions in labels."""
    return [
        *(_of_jobs(kind, engine) for kind in JOB_KINDS),
        *(_of_pods(owner, engine) for owner in POD_OWNERS),
    ]


def _of_jobs(kind: JobKind, engine: Engine) -> Policy:
    """Returns the policy for jobs of a kind. KAI's queues are for Ray objects only, so with it other jobs
    can't request accelerators, nor with Kueue jobs that it does not suspend. An update passes if it leaves
    the pod templates unchanged: Ray's autoscaler writes the replicas of a RayCluster that KubeRay created
    for a named RayJob or RayService."""
    is_queueable = suspends(engine, kind) and (engine != "kai" or bool(kind.ray_cluster))
    queued = f'{queue_of("object")} != ""' if is_queueable else "false"
    remedy = (
        f"add the label {QUEUE_LABEL} with the name of a queue (kubectl get localqueues)"
        if is_queueable
        else "run a Ray object in its queue instead"
    )
    named = _is_named(kind.name)
    allowed = f"{queued} || {named}"
    rules = {
        f"{allowed} || {_new_templates(_has_none('t'))}": _message(kind.name, remedy),
        f"{allowed} || {_new_templates(stays_off_accelerators('t'))}": _message_of_nodes(kind.name, remedy),
        f"{named} || {_new_templates(has_requested_devices_only('t'))}": REQUESTED_ONLY,
    }
    if kind.ray_cluster:
        containers = f"{_containers_have_none('variables.added')} || variables.added == variables.oldAdded"
        options = " or ".join(f"{kind.ray_cluster}.{path}" for path in ADDED_CONTAINERS)
        rules[f"{allowed} || {containers}"] = _message(f"{kind.name} ({options})", remedy)
    return Policy(
        name=f"muster-{kind.plural}-use-accelerators-of-queues",
        **requests_of(kind),
        operations=("CREATE", "UPDATE"),
        rules=rules,
        namespaces=TENANT,
        condition=spec_is_written_by_users(engine, kind.operator),
        exempt_operators=users_of(kind),
        variables=template_variables(kind) | (_added_containers(kind) if kind.ray_cluster else {}),
    )


def _new_templates(condition: str) -> str:
    return f"variables.templates.all(t, {condition}) || variables.templates == variables.oldTemplates"


def _added_containers(kind: JobKind) -> dict[str, str]:
    """CEL variables for the settings of containers that KubeRay adds, before and after the request."""
    paths = [f"{kind.ray_cluster}.{path}" for path in ADDED_CONTAINERS]
    return {"added": values_at("object", paths), "oldAdded": from_old_object(values_at("oldObject", paths))}


def _of_pods(owner: PodOwner, engine: Engine) -> Policy:
    """Returns the policy for objects that no queue admits. A pod may get further tolerations and annotations
    after its creation, unless it is of a gang (muster-pods-of-gangs-are-kept); its extended resources do not
    change."""
    remedy = "run a Ray object instead" if engine == "kai" else "run a Ray object or a Job instead"
    is_pod = owner.plural == "pods"
    named = _is_named(owner.name)
    created = 'request.operation == "UPDATE" || ' if is_pod else ""
    placed = f'"{WORKLOAD_UID_LABEL}" in object.metadata.?labels.orValue({{}}) || ' if is_pod else ""
    written = "true" if is_pod else spec_is_written()
    return Policy(
        name=f"muster-{owner.plural}-use-accelerators-of-queues",
        group=owner.group,
        resources=(owner.plural,),
        operations=("CREATE", "UPDATE"),
        rules={
            f"{created}{named} || {_has_none(owner.template)}": _message(owner.name, remedy),
            f"{placed}{named} || {_new(owner, stays_off_accelerators)}": _message_of_nodes(
                owner.name, remedy
            ),
            f"{named} || {_new(owner, has_requested_devices_only)}": REQUESTED_ONLY,
        },
        namespaces=TENANT,
        condition=f"!({is_trusted(engine)}) && ({written})",
        exempt_operators=creators_of(owner),
    )


def _new(owner: PodOwner, condition: Callable[[str], str]) -> str:
    """CEL for: the condition is true, or of a pod, it was not before either."""
    if owner.plural != "pods":
        return condition(owner.template)
    return f'{condition("object")} || (request.operation == "UPDATE" && !({condition("oldObject")}))'


def creators_of(owner: PodOwner) -> dict[str, str]:
    """Returns CEL for a request by a controller that creates objects of this kind, by what for."""
    created_for = (_resource(text) for text in owner.created_for)
    return {plural: may_write_status(group, plural) for group, plural in created_for}


def _resource(text: str) -> tuple[str, str]:
    group, slash, plural = text.rpartition("/")
    return (group if slash else "apps", plural)


def _is_named(kind: str) -> str:
    """CEL for: the tenant's settings allow accelerators to this object."""
    label = f'"{unqueued_label(kind, "")}" + object.metadata.name'
    return f'namespaceObject.metadata.?labels[?{label}].orValue("") == "true"'


def _has_none(template: str) -> str:
    """CEL for: pods of the template request neither extended resources nor claims of devices."""
    containers = " + ".join(
        f"{template}.?spec.?{key}.orValue([])" for key in ("containers", "initContainers")
    )
    return (
        f"{_containers_have_none(f'({containers})')} && "
        f"{template}.?spec.?resourceClaims.orValue([]).size() == 0"
    )


def _containers_have_none(containers: str) -> str:
    """CEL for: no container of the list requests extended resources."""
    quantities = "[c.?resources.?requests.orValue({}), c.?resources.?limits.orValue({})]"
    return f"{containers}.all(c, {quantities}.all(amounts, amounts.all(r, !r.contains('/'))))"


def _message(kind: str, remedy: str) -> str:
    return (
        f"in this namespace accelerators have a quota, but this {kind} would use them outside of it: "
        f"{remedy}, or ask an administrator to add it to {SETTING}"
    )


def _message_of_nodes(kind: str, remedy: str) -> str:
    return (
        f"in this namespace nodes with accelerators have a quota, but this {kind} would use them "
        f"outside of it: {OFF_ACCELERATORS}, {remedy}, or ask an administrator to add it to {SETTING}"
    )
