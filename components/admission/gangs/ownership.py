"""Ownership of a queued gang: the engine stops it, KubeRay runs it, the garbage collector deletes it.

The queue skips a gang with a controller reference, KubeRay skips a gang of another controller, and a
finalizer without a controller keeps it forever. So users cannot set any of these.
"""

from components.admission.ray import RAY_CLUSTER, RAY_KINDS, Engine, Policy, RayKind, asked_by_users, value_at
from components.admission.templates import from_old_object
from muster.objects.names import QUEUE_LABEL

KUBERAY_OPERATOR = '"ray.io/kuberay-operator"'
CASCADING = (
    'request.options.?propagationPolicy.orValue("") != "Orphan" && '
    "!request.options.?orphanDependents.orValue(false)"
)
HAS_CONTROLLER = "oldObject.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false))"
# Kubernetes' garbage collector and namespace controller, and administrators.
MAY_DELETE_ANY = 'authorizer.group("ray.io").resource("rayclusters").check("delete").allowed()'


def ownership_variables() -> dict[str, str]:
    owners, finalizers = "metadata.?ownerReferences.orValue([])", "metadata.?finalizers.orValue([])"
    controllers = f"{owners}.filter(o, o.?controller.orValue(false))"
    return {
        "controllers": f"object.{controllers}",
        "oldControllers": from_old_object(f"oldObject.{controllers}"),
        "oldFinalizers": from_old_object(f"oldObject.{finalizers}"),
    }


def ownership_rules(kind: RayKind, engine: Engine) -> dict[str, str]:
    """Returns the rules for creations and updates."""
    paths = ["spec.managedBy"] if kind is RAY_CLUSTER else ["spec.managedBy", f"{kind.cluster}.managedBy"]
    managed = " && ".join(_managed(path, engine) for path in paths)
    return {
        "variables.controllers == variables.oldControllers": (
            f"only KubeRay makes a queued {kind.name} part of another object, as its queue would then skip "
            "it: do not add or change owner references with controller: true"
        ),
        "object.metadata.?finalizers.orValue([]).all(f, f in variables.oldFinalizers)": (
            f"a queued {kind.name} has no finalizers but KubeRay's, or it might never be deleted: add none, "
            "and delete with --cascade=foreground to wait for its pods"
        ),
        managed: (
            f"a queued {kind.name} is run by KubeRay, or its queue could not stop it: leave spec.managedBy "
            "unchanged, or set it to ray.io/kuberay-operator"
        ),
    }


def _managed(path: str, engine: Engine) -> str:
    """Kueue may dispatch a new object to another cluster (MultiKueue); Muster does not."""
    new, old = (value_at(root, path, KUBERAY_OPERATOR) for root in ("object", "oldObject"))
    first = "true" if engine == "kueue" else f"{new} == {KUBERAY_OPERATOR}"
    return f'(request.operation == "CREATE" ? {first} : {new} == {old})'


def cascading_deletion(engine: Engine) -> Policy:
    """Returns the policy for deletions.

    A RayJob deleted with the policy Orphan leaves a running RayCluster without an owner. KubeRay recreates a
    RayCluster deleted below its RayService immediately: then two have pods, with quota for one.
    """
    return Policy(
        name="muster-queued-ray-is-deleted-whole",
        resources=tuple(kind.resource for kind in RAY_KINDS),
        operations=("DELETE",),
        rules={
            CASCADING: (
                "objects below a queued Ray object are deleted with it, or they would run on without quota: "
                "delete it without --cascade=orphan"
            ),
            f"!{HAS_CONTROLLER} || {MAY_DELETE_ANY}": (
                "KubeRay would recreate this RayCluster before its pods are gone, without quota for both: "
                "delete the RayJob or RayService that it belongs to"
            ),
        },
        label=QUEUE_LABEL,
        condition=asked_by_users(engine),
    )
