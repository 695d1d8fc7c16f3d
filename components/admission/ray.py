"""Admission policies as data: whom a rule concerns, what it asks, and what it says when it is broken."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from settings.model.operators import namespaces

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
# The account that components/controller/reconciler.py makes. Kueue needs no name here: its chart lets it
# write the status of Ray objects, so it counts as one of their operators.
ENGINE_ACCOUNTS = {"muster": f"system:serviceaccount:{namespaces.MUSTER}:muster-controller"}

Engine = Literal["muster", "kueue", "kai"]


@dataclass(frozen=True)
class RayKind:
    """`cluster` is the path of the RayClusterSpec in the object; `suspend` of what stops all its pods."""

    resource: str
    name: str
    cluster: str
    suspend: str


RAY_JOB = RayKind("rayjobs", "RayJob", "spec.rayClusterSpec", "spec.suspend")
RAY_CLUSTER = RayKind("rayclusters", "RayCluster", "spec", "spec.suspend")
RAY_SERVICE = RayKind("rayservices", "RayService", "spec.rayClusterConfig", "spec.rayClusterConfig.suspend")
RAY_KINDS = (RAY_JOB, RAY_CLUSTER, RAY_SERVICE)


@dataclass(frozen=True)
class Policy:
    """A ValidatingAdmissionPolicy: `rules` maps each CEL expression that has to hold to the message for
    whoever breaks it. It looks at objects that carry the label `label` (on an update, before or after it) in
    namespaces with these labels, where `condition` holds."""

    name: str
    resources: tuple[str, ...]
    operations: tuple[Literal["CREATE", "UPDATE", "DELETE"], ...]
    rules: Mapping[str, str]
    group: str = "ray.io"
    version: str = "v1"
    label: str = ""
    namespaces: Mapping[str, str] = field(default_factory=dict)
    condition: str = ""
    reason: Literal["Forbidden", "Invalid"] = "Forbidden"
    variables: Mapping[str, str] = field(default_factory=dict)


def is_trusted(engine: Engine) -> str:
    """CEL for a request by the engine, or by whoever may write the status of RayClusters everywhere."""
    trusted = may_write_status("ray.io", "rayclusters")
    if engine in ENGINE_ACCOUNTS:
        trusted = f'request.userInfo.username == "{ENGINE_ACCOUNTS[engine]}" || {trusted}'
    return trusted


def may_write_status(group: str, resource: str) -> str:
    """CEL for a request by the controller of a resource: it may write the status in all namespaces."""
    check = f'group("{group}").resource("{resource}").subresource("status").check("update")'
    return f"authorizer.{check}.allowed()"


def asked_by_users(engine: Engine) -> str:
    """A condition that leaves alone what the engine and Ray's operator do.

    The operator is known by what it may do and not by its name, which differs between KubeRay's chart, GKE's
    add-on and an operator that was there before: whoever may write the status of RayClusters in all
    namespaces. So may cluster administrators: they can break the glass. What they create is held back like
    everyone's, unless a controller owns it: KubeRay copies a RayJob's labels to the RayCluster it makes,
    which must start when its job is resumed. A user can't claim an owner to get past the queue.
    """
    trusted = is_trusted(engine)
    owned = "object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false))"
    return f'!({trusted}) || (request.operation == "CREATE" && !{owned})'


def optional(root: str, path: str) -> str:
    """CEL for what may be at a path of `root` (object or oldObject), whose spec is always there."""
    spec, *rest = path.split(".")
    return ".?".join([f"{root}.{spec}", *rest])


def at(root: str, path: str, otherwise: str) -> str:
    return f"{optional(root, path)}.orValue({otherwise})"


def queue_of(root: str) -> str:
    """CEL for the queue's name, empty for an object outside of all queues."""
    return f'{root}.metadata.?labels[?"{QUEUE_LABEL}"].orValue("")'
