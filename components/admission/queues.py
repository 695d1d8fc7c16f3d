"""Policies for objects that enter a queue: suspended, and only if KubeRay can suspend them again."""

from components.admission.ray import RAY_JOB, RAY_KINDS, Engine, Policy, asked_by_users, queue_of, value_at
from muster.objects.names import QUEUE_LABEL
from settings.model.tenants.tenant import QUEUE_REQUIRED

# MutatingAdmissionPolicies by name: the resources, and the object merged into the request's.
SUSPENDING_MUTATIONS = {
    "muster-suspend-queued-ray": (
        ("rayjobs", "rayclusters"),
        "Object{spec: Object.spec{suspend: true}}",
    ),
    # A RayService has no suspend field before KubeRay v1.7; that of its cluster also stops it.
    "muster-suspend-queued-rayservices": (
        ("rayservices",),
        "Object{spec: Object.spec{rayClusterConfig: Object.spec.rayClusterConfig{suspend: true}}}",
    ),
}

# KubeRay's requirements of a suspended RayJob (ray-operator/controllers/ray/utils/validation.go). It refuses
# an invalid one forever once it is suspended, so it is refused at creation. An invalid update would be worse:
# KubeRay lets the job run on when it is preempted.
SUSPENDABLE = {
    "has(object.spec.shutdownAfterJobFinishes) && object.spec.shutdownAfterJobFinishes": (
        "a queued RayJob needs spec.shutdownAfterJobFinishes: true, "
        "or KubeRay can't suspend it while it waits for quota"
    ),
    "!has(object.spec.clusterSelector) || size(object.spec.clusterSelector) == 0": (
        "a queued RayJob needs its own cluster: remove spec.clusterSelector, or the queue label"
    ),
    "!has(object.spec.deletionStrategy) || !has(object.spec.deletionStrategy.deletionRules)": (
        "a queued RayJob can't have spec.deletionStrategy.deletionRules: its cluster is deleted when it ends"
    ),
}


def suspendable(engine: Engine) -> Policy:
    return Policy(
        name="muster-queued-rayjobs-can-be-suspended",
        resources=(RAY_JOB.resource,),
        operations=("CREATE", "UPDATE"),
        rules=SUSPENDABLE,
        label=QUEUE_LABEL,
        condition=asked_by_users(engine),
    )


def created_suspended(engine: Engine) -> list[Policy]:
    """Returns policies for clusters without MutatingAdmissionPolicy: users must suspend queued objects."""
    return [
        Policy(
            name=f"muster-queued-{kind.resource}-are-suspended",
            resources=(kind.resource,),
            operations=("CREATE",),
            rules={
                f"{value_at('object', kind.suspend, 'false')} == true": (
                    f"a queued {kind.name} starts when its queue admits it: create it with {kind.suspend}: "
                    "true (Kubernetes before 1.36 can't set it for you)"
                )
            },
            label=QUEUE_LABEL,
            condition=asked_by_users(engine),
        )
        for kind in RAY_KINDS
    ]


def queue_required(engine: Engine) -> Policy:
    """Returns the policy for tenants with `queueRequired`: all Ray objects need a queue."""
    return Policy(
        name="muster-ray-needs-a-queue",
        resources=tuple(kind.resource for kind in RAY_KINDS),
        operations=("CREATE",),
        rules={
            f'{queue_of("object")} != ""': (
                f"in this namespace Ray objects need a queue: add the label {QUEUE_LABEL} with the name of a "
                "queue (kubectl get localqueues)"
            )
        },
        namespaces=QUEUE_REQUIRED,
        condition=asked_by_users(engine),
    )
