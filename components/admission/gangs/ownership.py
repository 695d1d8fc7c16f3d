"""Whose a queued gang is: the engine's to stop, KubeRay's to run and the garbage collector's to remove.

One with a controller counts as part of that, one that another controller manages is left to that, and one
whose finalizer nobody removes stays for good. So users can claim none of it.
"""

from components.admission.ray import (
    QUEUE_LABEL,
    RAY_CLUSTER,
    RAY_KINDS,
    Engine,
    Policy,
    RayKind,
    asked_by_users,
    at,
)
from components.admission.templates import before

KUBERAY_OPERATOR = '"ray.io/kuberay-operator"'
ORPHANED = (
    'request.options.?propagationPolicy.orValue("") != "Orphan" && '
    "!request.options.?orphanDependents.orValue(false)"
)
PART = "oldObject.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false))"
# Kubernetes' garbage collector and namespace controller, and administrators.
MAY_DELETE_ANY = 'authorizer.group("ray.io").resource("rayclusters").check("delete").allowed()'


def ownership_variables() -> dict[str, str]:
    owners, finalizers = "metadata.?ownerReferences.orValue([])", "metadata.?finalizers.orValue([])"
    controllers = f"{owners}.filter(o, o.?controller.orValue(false))"
    return {
        "controllers": f"object.{controllers}",
        "oldControllers": before(f"oldObject.{controllers}"),
        "oldFinalizers": before(f"oldObject.{finalizers}"),
    }


def belongs_to_its_queue(kind: RayKind, engine: Engine) -> dict[str, str]:
    """Rules of creations and updates."""
    paths = ["spec.managedBy"] if kind is RAY_CLUSTER else ["spec.managedBy", f"{kind.cluster}.managedBy"]
    managed = " && ".join(_managed(path, engine) for path in paths)
    return {
        "variables.controllers == variables.oldControllers": (
            f"only KubeRay makes a queued {kind.name} part of another object, and its queue would pass it "
            "by: leave owner references with controller: true as they are, and create none"
        ),
        "object.metadata.?finalizers.orValue([]).all(f, f in variables.oldFinalizers)": (
            f"a queued {kind.name} has no finalizers but KubeRay's, or it could stay for good: add none, and "
            "delete with --cascade=foreground to wait for its pods"
        ),
        managed: (
            f"a queued {kind.name} is run by KubeRay, or its queue could not stop it: leave spec.managedBy "
            "as it is, or ray.io/kuberay-operator"
        ),
    }


def _managed(path: str, engine: Engine) -> str:
    """Kueue itself may hand a new object to other clusters (MultiKueue); Muster knows no others."""
    new, old = (at(root, path, KUBERAY_OPERATOR) for root in ("object", "oldObject"))
    first = "true" if engine == "kueue" else f"{new} == {KUBERAY_OPERATOR}"
    return f'(request.operation == "CREATE" ? {first} : {new} == {old})'


def whole_deletion(engine: Engine) -> Policy:
    """Deleted with the policy Orphan, a RayJob leaves a running RayCluster that belongs to nobody. Deleted
    below its RayService, a RayCluster is made anew at once: two have pods then, and quota is for one."""
    return Policy(
        name="muster-queued-ray-is-deleted-whole",
        resources=tuple(kind.resource for kind in RAY_KINDS),
        operations=("DELETE",),
        rules={
            ORPHANED: (
                "what a queued Ray object has made goes with it, or it would run on without quota: delete it "
                "without --cascade=orphan"
            ),
            f"!{PART} || {MAY_DELETE_ANY}": (
                "KubeRay makes a RayCluster of a queued job anew at once, before the pods of this one are "
                "gone and without quota for both: delete the RayJob or RayService that it belongs to"
            ),
        },
        label=QUEUE_LABEL,
        condition=asked_by_users(engine),
    )
