"""Policies for objects that enter a queue: suspended, and only if KubeRay can suspend them again."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from components.admission.counted import is_suspended, number_of_groups, suspending_object
from components.admission.ray import (
    ENGINE_ACCOUNTS,
    Engine,
    Policy,
    Requests,
    asked_by_users,
    queue_of,
    requests_of,
    suspends,
    users_of,
    value_at,
)
from muster.cluster.jobs.job import Operator
from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.kinds import JOB_KINDS, OPERATORS
from muster.cluster.jobs.ray_view import KUBERAY
from muster.cluster.jobs.rayjob import RAY_JOB
from muster.objects.names import QUEUE_LABEL
from settings.model.tenants.tenant import QUEUE_REQUIRED

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
    """Returns the policy that requires queued RayJobs to be suspendable by KubeRay."""
    return Policy(
        name="muster-queued-rayjobs-can-be-suspended",
        resources=(RAY_JOB.plural,),
        operations=("CREATE", "UPDATE"),
        rules=SUSPENDABLE,
        label=QUEUE_LABEL,
        condition=asked_by_users(engine),
    )


@dataclass(frozen=True)
class Mutation:
    """A MutatingAdmissionPolicy: the object `applied` is merged into those of the requests, and each JSON
    patch of `patches` is applied. A merge fails if the CRD lacks a field; a patch does not. It applies to
    objects with the label `label` if `condition` is true, by default to requests of users."""

    requests: Requests
    applied: str
    operator: Operator = KUBERAY
    patches: tuple[str, ...] = ()
    operations: tuple[str, ...] = ("CREATE",)
    exempt_operators: Mapping[str, str] = field(default_factory=dict)  # as of Policy
    label: str = QUEUE_LABEL
    condition: str = ""


def suspending_mutations(engine: Engine) -> dict[str, Mutation]:
    """Returns the mutations that suspend queued objects at creation, by name: one for all kinds of an
    operator with the same fields. Kueue resumes a RayService by rayClusterConfig.suspend alone (v0.19.2,
    pkg/controller/jobs/rayservice/rayservice_controller.go: RunWithPodSetsInfo), so only that is set for it.
    """
    knows_all_fields = engine in ENGINE_ACCOUNTS
    kinds: dict[tuple[Operator, tuple[str, ...]], list[JobKind]] = {}
    counted = [kind for kind in JOB_KINDS if kind.count_annotation and suspends(engine, kind)]
    for kind in JOB_KINDS:
        if not kind.count_annotation:
            kinds.setdefault((kind.operator, kind.suspends), []).append(kind)
    mutations = {
        f"muster-suspend-queued-{operator.word if len(same) > 1 else same[0].plural}": Mutation(
            requests_of(*same),
            _object(first),
            operator,
            tuple(map(_patch, others)) if knows_all_fields else (),
            exempt_operators=users_of(*same),
        )
        for (operator, (first, *others)), same in kinds.items()
    }
    return mutations | {
        f"muster-suspend-queued-{kind.plural}": Mutation(
            requests_of(kind),
            suspending_object(kind),
            kind.operator,
            operations=("CREATE", "UPDATE"),
            exempt_operators=users_of(kind),
        )
        for kind in counted
    }


def _patch(path: str) -> str:
    """CEL for a JSON patch that sets the field at the path to true."""
    return f'[JSONPatch{{op: "add", path: "/{path.replace(".", "/")}", value: true}}]'


def _object(path: str) -> str:
    """CEL for an object in which the field at the path is true."""
    *parents, last = path.split(".")
    applied = f"{last}: true"
    for depth in range(len(parents), 0, -1):
        applied = f"{parents[depth - 1]}: Object.{'.'.join(parents[:depth])}{{{applied}}}"
    return f"Object{{{applied}}}"


def created_suspended(engine: Engine) -> list[Policy]:
    """Returns policies for clusters without MutatingAdmissionPolicy: users must suspend queued objects."""
    return [
        Policy(
            name=f"muster-queued-{kind.plural}-are-suspended",
            **requests_of(kind),
            operations=("CREATE",),
            rules={
                _is_created_suspended(kind): (
                    f"a queued {kind.name} starts when its queue admits it: create it with "
                    f"{_suspended_fields(kind)} (Kubernetes before 1.36 can't set it for you)"
                )
            },
            label=QUEUE_LABEL,
            condition=asked_by_users(engine, kind.operator),
            exempt_operators=users_of(kind),
        )
        for kind in JOB_KINDS
        if suspends(engine, kind)
    ]


def _is_created_suspended(kind: JobKind) -> str:
    if kind.count_annotation:
        return f"{is_suspended(kind, 'object')} && {number_of_groups(kind, 'object')} > 0"
    return f"{value_at('object', kind.suspend, 'false')} == true"


def _suspended_fields(kind: JobKind) -> str:
    if kind.count_annotation:
        return f"{kind.suspend}: 0 and its number in the annotation {kind.count_annotation}"
    return f"{kind.suspend}: true"


def queue_required(engine: Engine) -> list[Policy]:
    """Returns the policies for tenants with `queueRequired`: all jobs need a queue."""
    return [
        Policy(
            name=f"muster-{operator.word}-needs-a-queue",
            **requests_of(*kinds),
            operations=("CREATE",),
            rules={
                f'{queue_of("object")} != ""': (
                    f"in this namespace {operator.noun}s need a queue: add the label {QUEUE_LABEL} with the "
                    "name of a queue (kubectl get localqueues)"
                )
            },
            namespaces=QUEUE_REQUIRED,
            condition=asked_by_users(engine, operator),
            exempt_operators=users_of(*kinds),
        )
        for operator, kinds in OPERATORS.items()
    ]
