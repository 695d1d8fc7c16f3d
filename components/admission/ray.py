"""Admission policies as data: the requests that a rule applies to, its condition and its message."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypedDict

from muster.cluster.jobs.job import Operator, Schedule
from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.kinds import BY_KIND, JOB_KINDS, OPERATORS, SCHEDULES
from muster.cluster.jobs.ray_view import KUBERAY
from muster.objects.names import QUEUE_LABEL
from settings.model.operators import namespaces

# The account that components/controller/reconciler.py creates. Kueue needs no entry: its chart lets it write
# the status of Ray objects, so it counts as one of their operators.
ENGINE_ACCOUNTS = {"muster": f"system:serviceaccount:{namespaces.MUSTER}:muster-controller"}

Engine = Literal["muster", "kueue", "kai"]


def is_schedule(owner: str, schedule: Schedule) -> str:
    """Returns CEL for: an owner reference is to an object of this kind."""
    return f'{owner}.kind == "{schedule.name}" && {owner}.apiVersion.startsWith("{schedule.group}/")'


def controllers(root: str, *schedules: Schedule | None) -> str:
    """Returns CEL for the references to the controller of an object. Objects of these kinds do not count: a
    job that was created on a schedule is no part of another one."""
    conditions = [
        "o.?controller.orValue(false)",
        *(f"!({is_schedule('o', schedule)})" for schedule in schedules if schedule),
    ]
    return f"{root}.metadata.?ownerReferences.orValue([]).filter(o, {' && '.join(conditions)})"


OWNED = f"({controllers('object', *SCHEDULES)}.size() > 0)"
"""CEL for an object that an operator created as a part of another one, which was checked at its creation."""


RAY_KINDS = tuple(kind for kind in JOB_KINDS if kind.ray_cluster)


@dataclass(frozen=True)
class Policy:
    """A ValidatingAdmissionPolicy: `rules` maps each CEL expression that must be true to its message.

    It applies to objects with the label `label` (on an update, before or after it), in namespaces with the
    labels `namespaces`, if `condition` is true and the request is not by an identity for which `exempt` or
    one of `exempt_operators` is. These are separate expressions because of the API server's cost limit, which
    allows two checks of permissions in each.
    """

    name: str
    resources: tuple[str, ...]
    operations: tuple[Literal["CREATE", "UPDATE", "DELETE"], ...]
    rules: Mapping[str, str]
    group: str = "ray.io"
    version: str = "v1"
    label: str = ""
    namespaces: Mapping[str, str] = field(default_factory=dict)
    condition: str = ""
    exempt: str = ""
    exempt_operators: Mapping[str, str] = field(default_factory=dict)  # by the operator's word
    reason: Literal["Forbidden", "Invalid"] = "Forbidden"
    variables: Mapping[str, str] = field(default_factory=dict)


class Requests(TypedDict):
    """The requests of a policy: the API group, its version and the resources."""

    group: str
    version: str
    resources: tuple[str, ...]


def requests_of(*kinds: JobKind) -> Requests:
    """Returns the requests for jobs of these kinds, which are of one API group."""
    (api,) = {(kind.kind.group, kind.kind.version) for kind in kinds}
    group, version = api
    return {"group": group, "version": version, "resources": tuple(kind.plural for kind in kinds)}


def is_trusted(engine: Engine, operator: Operator = KUBERAY) -> str:
    """CEL for a request by the engine or the operator: by a user that may write, for KubeRay, the status of
    RayClusters everywhere."""
    trusted = may_write_status(operator.group, operator.status_of)
    if engine in ENGINE_ACCOUNTS:
        trusted = f'request.userInfo.username == "{ENGINE_ACCOUNTS[engine]}" || {trusted}'
    return trusted


def may_write_status(group: str, resource: str) -> str:
    """CEL for a request by the controller of a resource, which may write its status in all namespaces."""
    check = f'group("{group}").resource("{resource}").subresource("status").check("update")'
    return f"authorizer.{check}.allowed()"


def users_of(*kinds: JobKind) -> dict[str, str]:
    """Returns CEL for a request by an operator whose jobs have objects of these kinds as parts, by its word.
    It creates them for a job that controls them."""
    return {
        operator.word: f'(request.operation != "CREATE" || {OWNED}) && '
        f"{may_write_status(operator.group, operator.status_of)}"
        for kind in kinds
        for operator in kind.used_by
    }


def suspends(engine: Engine, kind: JobKind) -> bool:
    """Returns whether the engine starts and stops queued jobs of the kind by their fields. Kueue admits those
    without a field that suspends them by their pods."""
    return engine == "muster" or not kind.count_annotation


def pod_controllers() -> dict[str, str]:
    """Returns CEL for a request by the controller of a resource that operators create for pods, by its
    plural."""
    of_kinds = (kind.pod_controller for kind in JOB_KINDS if kind.pod_controller is not None)
    return {it.plural: may_write_status(it.group, it.plural) for it in of_kinds}


def creators(kind: JobKind) -> str:
    """Returns the names of the operators that create objects of the kind for other jobs, for a message."""
    return " or ".join(dict.fromkeys(BY_KIND[creator].operator.name for creator in kind.created_by))


def other_operators() -> dict[str, str]:
    """Returns CEL for a request by an operator other than KubeRay, by the operator's word."""
    others = (operator for operator in OPERATORS if operator != KUBERAY)
    return {operator.word: may_write_status(operator.group, operator.status_of) for operator in others}


def asked_by_users(engine: Engine, operator: Operator = KUBERAY) -> str:
    """CEL for a request that is not by the engine or the operator.

    KubeRay is recognized by its permission to write the status of RayClusters in all namespaces, because
    its name differs between KubeRay's chart, GKE's add-on and an existing operator. Cluster administrators
    have that permission too (break glass). Policies still apply to objects that these identities create,
    unless a controller owns them: KubeRay copies a RayJob's labels to its RayCluster, which must start when
    the job is resumed. Users cannot set an owner to bypass the queue. What is created on a schedule is
    checked as if its users had created it.
    """
    return f'!({is_trusted(engine, operator)}) || (request.operation == "CREATE" && !{OWNED})'


def spec_is_written() -> str:
    """CEL for a request that writes the spec. Updates of metadata alone, such as the removal of a finalizer,
    must pass even if the spec is invalid."""
    return 'request.operation == "CREATE" || object.spec != oldObject.spec'


def spec_is_written_by_users(engine: Engine, operator: Operator = KUBERAY) -> str:
    """CEL for a request that writes the spec and is not by the engine or the operator."""
    return f"({asked_by_users(engine, operator)}) && ({spec_is_written()})"


def optional(root: str, path: str) -> str:
    """CEL for the optional value at a path of `root` (object or oldObject); the spec always exists."""
    spec, *remaining = path.split(".")
    return ".?".join([f"{root}.{spec}", *remaining])


def value_at(root: str, path: str, otherwise: str) -> str:
    """Returns the CEL expression of the value at a path, or of `otherwise` if the path is absent."""
    return f"{optional(root, path)}.orValue({otherwise})"


def values_at(root: str, paths: Iterable[str]) -> str:
    """Returns the CEL expression of a list: the values at these paths, without absent ones."""
    return f"[{', '.join(f'?{optional(root, path)}' for path in paths)}]"


def any_is_true(root: str, paths: Iterable[str]) -> str:
    """CEL for: at least one of the fields is true."""
    return f"({' || '.join(value_at(root, path, 'false') for path in paths)})"


def queue_of(root: str) -> str:
    """CEL for the queue's name, empty for an object outside all queues."""
    return f'{root}.metadata.?labels[?"{QUEUE_LABEL}"].orValue("")'
