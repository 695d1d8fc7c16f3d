"""Ownership of a queued gang: the engine stops it, KubeRay runs it, the garbage collector deletes it.

The queue skips a gang with a controller reference, KubeRay skips a gang of another controller, and a
finalizer without a controller keeps it forever. So users cannot set any of these.
"""

from collections.abc import Iterable

from components.admission.metadata import same_of_prefixes, same_owners_and_finalizers
from components.admission.pods import ANNOTATIONS, LABELS
from components.admission.ray import (
    Engine,
    Policy,
    asked_by_users,
    controllers,
    creators,
    optional,
    requests_of,
    users_of,
    value_at,
)
from components.admission.templates import from_old_object
from muster.cluster.jobs.job import Operator
from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.kinds import OPERATORS
from muster.objects.names import QUEUE_LABEL, WORKLOAD_UID_LABEL


def _is_part(kind: JobKind, root: str) -> str:
    """CEL for: another object controls the job, as in JobView.is_part."""
    return f"({controllers(root, kind.schedule)}.size() > 0)"


def ownership_variables(kind: JobKind) -> dict[str, str]:
    """Returns the CEL variables for owners and finalizers before and after the request. The owners are those
    of an object that has a controller, and all of them: the garbage collector does not delete it with its
    controller while another owner exists (pkg/controller/garbagecollector: attemptToDeleteItem)."""
    owners, finalizers = "metadata.?ownerReferences.orValue([])", "metadata.?finalizers.orValue([])"
    of_parts = {root: f"{_is_part(kind, root)} ? {root}.{owners} : []" for root in ("object", "oldObject")}
    return {
        "owners": of_parts["object"],
        "oldOwners": from_old_object(of_parts["oldObject"]),
        "oldFinalizers": from_old_object(f"oldObject.{finalizers}"),
    }


def ownership_rules(kind: JobKind, engine: Engine) -> dict[str, str]:
    """Returns the rules for creations and updates."""
    operator = kind.operator
    rules = {
        "variables.owners == variables.oldOwners": (
            f"only {operator.name} makes a queued {kind.name} part of another object, as its queue would "
            "then skip it: do not add or change owner references with controller: true, nor others next to "
            "one"
        ),
        "object.metadata.?finalizers.orValue([]).all(f, f in variables.oldFinalizers)": (
            f"a queued {kind.name} has no finalizers but {operator.name}'s, or it might never be deleted: "
            "add none, and delete with --cascade=foreground to wait for its pods"
        ),
    }
    if operator.managed_by:
        paths = dict.fromkeys(["spec.managedBy", f"{kind.ray_cluster or 'spec'}.managedBy"])
        rules[" && ".join(_managed(path, operator.managed_by, engine) for path in paths)] = (
            f"a queued {kind.name} is run by {operator.name}, or its queue could not stop it: leave "
            f"spec.managedBy unchanged, or set it to {operator.managed_by}"
        )
    return rules


def _managed(path: str, manager: str, engine: Engine) -> str:
    """Kueue may dispatch a new object to another cluster (MultiKueue); Muster does not."""
    new, old = (value_at(root, path, f'"{manager}"') for root in ("object", "oldObject"))
    first = "true" if engine == "kueue" else f'{new} == "{manager}"'
    return f'(request.operation == "CREATE" ? {first} : {new} == {old})'


def kept_parts(kind: JobKind, engine: Engine) -> list[Policy]:
    """Returns the policy for objects of the kind that another job has as its parts, such as the submitter of
    a RayJob: their pods hold its quota."""
    if not kind.used_by:
        return []
    operators = " or ".join(operator.name for operator in kind.used_by)
    is_part = [_holds_quota(kind)]
    if kind.origin_label:  # also before it has quota
        is_part.append(f'oldObject.metadata.?labels[?"{kind.origin_label}"].hasValue()')
    unchanged = (
        "object.spec == oldObject.spec",
        same_owners_and_finalizers(),
        same_of_prefixes("labels", LABELS),
        same_of_prefixes("annotations", ANNOTATIONS),
    )
    changed = Policy(
        name=f"muster-{kind.plural}-of-gangs-are-kept",
        **requests_of(kind),
        operations=("UPDATE",),
        rules={
            f"!({' || '.join(is_part)}) || !{_is_part(kind, 'oldObject')} || ({' && '.join(unchanged)})": (
                f"this {kind.name} is part of a job that holds quota for it: only {operators} changes its "
                "spec, its owners, its finalizers, and the labels and annotations that they act on"
            )
        },
        condition=asked_by_users(engine, kind.operator),
        exempt_operators=users_of(kind),
    )
    return [changed, _parts_deleted_with_their_job(kind, engine, operators)]


def _holds_quota(kind: JobKind) -> str:
    """CEL for: a template has the label of a Workload."""
    uid = f'?metadata.?labels[?"{WORKLOAD_UID_LABEL}"].hasValue()'
    return " || ".join(f"{optional('oldObject', path)}.{uid}" for path in kind.templates)


def _parts_deleted_with_their_job(kind: JobKind, engine: Engine, operators: str) -> Policy:
    is_part = f"{_is_part(kind, 'oldObject')} && ({_holds_quota(kind)})"
    return Policy(
        name=f"muster-{kind.plural}-of-gangs-are-deleted-with-them",
        **requests_of(kind),
        operations=("DELETE",),
        rules={
            f"!({is_part}) || {_may_delete_any(kind)}": (
                f"this {kind.name} is part of a job that holds quota for it: {operators} might recreate it "
                "before its pods are gone, or they would run on without an owner: delete the job that it "
                "belongs to"
            )
        },
        condition=asked_by_users(engine, kind.operator),
        exempt_operators=users_of(kind),
    )


def cascading_deletions(engine: Engine) -> list[Policy]:
    """Returns the policies for deletions.

    A RayJob deleted with the policy Orphan leaves a running RayCluster without an owner. KubeRay recreates a
    RayCluster deleted below its RayService immediately: then two have pods, with quota for one.
    """
    return [
        Policy(
            name=f"muster-queued-{operator.word}-is-deleted-whole",
            **requests_of(*kinds),
            operations=("DELETE",),
            rules=_deletion_rules(operator, kinds),
            label=QUEUE_LABEL,
            condition=asked_by_users(engine, operator),
            exempt_operators=users_of(*kinds),
        )
        for operator, kinds in OPERATORS.items()
    ]


def _is_cascading(operator: Operator) -> str:
    """CEL for: the objects below the deleted one are deleted too."""
    return (
        f'request.options.?propagationPolicy.orValue("{operator.propagation}") != "Orphan" && '
        "!request.options.?orphanDependents.orValue(false)"
    )


def _deletion_rules(operator: Operator, kinds: Iterable[JobKind]) -> dict[str, str]:
    rules = {
        _is_cascading(operator): (
            f"objects below a queued {operator.noun} are deleted with it, or they would run on without "
            "quota: delete it with the propagation policy Background or Foreground, as kubectl does without "
            "--cascade=orphan"
        )
    }
    for kind in kinds:
        if kind.created_by and not kind.used_by:
            rules |= _recreated(kind)
    return rules


def _recreated(kind: JobKind) -> dict[str, str]:
    """Returns the rule for deletions of objects that their operator would create again. Kubernetes' garbage
    collector and namespace controller may delete them, and so may administrators."""
    return {
        f"!{_is_part(kind, 'oldObject')} || {_may_delete_any(kind)}": (
            f"{creators(kind)} would recreate this {kind.name} before its pods are gone, without quota for "
            f"both: delete the {' or '.join(map(str, kind.created_by))} that it belongs to"
        )
    }


def _may_delete_any(kind: JobKind) -> str:
    """CEL for a request by an identity that may delete objects of the kind in all namespaces."""
    resource = f'authorizer.group("{kind.kind.group}").resource("{kind.plural}")'
    return f'{resource}.check("delete").allowed()'
