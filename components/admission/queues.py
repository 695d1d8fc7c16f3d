"""Policies by which Ray objects enter queues: suspended, and only if KubeRay could suspend them again."""

from components.admission.ray import (
    QUEUE_LABEL,
    RAY_JOB,
    RAY_KINDS,
    Engine,
    Policy,
    asked_by_users,
    at,
    queue_of,
)

QUEUE_REQUIRED = {"muster.dev/queue-required": "true"}

# MutatingAdmissionPolicies by name: the resources, and the object that is merged into theirs.
SUSPENSIONS = {
    "muster-suspend-queued-ray": (
        ("rayjobs", "rayclusters"),
        "Object{spec: Object.spec{suspend: true}}",
    ),
    # KubeRay's RayService has no suspend of its own before v1.7: that of its cluster stops it too.
    "muster-suspend-queued-rayservices": (
        ("rayservices",),
        "Object{spec: Object.spec{rayClusterConfig: Object.spec.rayClusterConfig{suspend: true}}}",
    ),
}

# What KubeRay asks of a RayJob that is to be suspended (ray-operator/controllers/ray/utils/validation.go).
# One that breaks it is refused for good once it is suspended, so better before it is there. On an update it
# would be worse: KubeRay lets such a job run on when it is preempted.
SUSPENDABLE = {
    "has(object.spec.shutdownAfterJobFinishes) && object.spec.shutdownAfterJobFinishes": (
        "a queued RayJob needs spec.shutdownAfterJobFinishes: true, "
        "or KubeRay can't suspend it while it waits for quota"
    ),
    "!has(object.spec.clusterSelector) || size(object.spec.clusterSelector) == 0": (
        "a queued RayJob brings its own cluster: remove spec.clusterSelector, or the queue label"
    ),
    "!has(object.spec.deletionStrategy) || !has(object.spec.deletionStrategy.deletionRules)": (
        "a queued RayJob can't have spec.deletionStrategy.deletionRules: its cluster goes when the job ends"
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


def born_suspended(engine: Engine) -> list[Policy]:
    """For clusters that serve no MutatingAdmissionPolicy: who queues an object has to suspend it."""
    return [
        Policy(
            name=f"muster-queued-{kind.resource}-are-suspended",
            resources=(kind.resource,),
            operations=("CREATE",),
            rules={
                f"{at('object', kind.suspend, 'false')} == true": (
                    f"a queued {kind.name} starts when its queue admits it: create it with {kind.suspend}: "
                    "true (this cluster's version can't set it for you)"
                )
            },
            label=QUEUE_LABEL,
            condition=asked_by_users(engine),
        )
        for kind in RAY_KINDS
    ]


def queue_required(engine: Engine) -> Policy:
    """For tenants with `queueRequired`: nothing of Ray runs past the queues."""
    return Policy(
        name="muster-ray-needs-a-queue",
        resources=tuple(kind.resource for kind in RAY_KINDS),
        operations=("CREATE",),
        rules={
            f'{queue_of("object")} != ""': (
                f"in this namespace Ray runs by queues only: add the label {QUEUE_LABEL} with the name of a "
                "queue (kubectl get localqueues)"
            )
        },
        namespaces=QUEUE_REQUIRED,
        condition=asked_by_users(engine),
    )
