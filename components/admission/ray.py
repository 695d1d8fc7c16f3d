"""Admission policies as data: whom a rule concerns, what it asks, and what it says when it is broken."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
# The account that components/controller/reconciler.py makes. Kueue needs no name here: its chart lets it
# write the status of Ray objects, so it counts as one of their operators.
ENGINE_ACCOUNTS = {"muster": "system:serviceaccount:muster-system:muster-controller"}

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
    whoever breaks it. It looks at objects that carry a queue's name (`queued`) in namespaces with these
    labels, where `condition` holds."""

    name: str
    resources: tuple[str, ...]
    operations: tuple[Literal["CREATE", "UPDATE"], ...]
    rules: Mapping[str, str]
    group: str = "ray.io"
    queued: bool = False
    namespaces: Mapping[str, str] = field(default_factory=dict)
    condition: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


def asked_by_users(engine: Engine) -> str:
    """A condition that leaves alone what the engine and Ray's operator do.

    The operator is known by what it may do and not by its name, which differs between KubeRay's chart, GKE's
    add-on and an operator that was there before: whoever may write the status of RayClusters in all
    namespaces. So may cluster administrators: they can break the glass. What they create is held back like
    everyone's, unless a controller owns it: KubeRay copies a RayJob's labels to the RayCluster it makes,
    which must start when its job is resumed. A user can't claim an owner to get past the queue.
    """
    operator = 'authorizer.group("ray.io").resource("rayclusters").subresource("status").check("update")'
    trusted = f"{operator}.allowed()"
    if engine in ENGINE_ACCOUNTS:
        trusted = f'request.userInfo.username == "{ENGINE_ACCOUNTS[engine]}" || {trusted}'
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
