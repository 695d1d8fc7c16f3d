"""Labels that only the engine and operators may write: pods' Workload, and the origin of parts of jobs.

A pod with the label of a Workload holds its quota until the pod is deleted, on any node. So users cannot
set it on a pod, on a Job whose pods would inherit it, or on a Ray object, queued or not.
"""

from components.admission.metadata import same_owners_and_finalizers
from components.admission.ray import (
    Engine,
    Policy,
    asked_by_users,
    creators,
    is_trusted,
    may_write_status,
    other_operators,
    pod_controllers,
    requests_of,
    users_of,
    values_at,
)
from components.admission.templates import from_old_object, group_variables, head, in_group
from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.kinds import JOB_KINDS
from muster.objects.names import WORKLOAD_UID_LABEL

UID_LABEL = f'metadata.?labels[?"{WORKLOAD_UID_LABEL}"]'
MESSAGE = f"the label {WORKLOAD_UID_LABEL} is set by admission only, as pods with it hold quota: remove it"


def reserved_labels(engine: Engine) -> list[Policy]:
    """Returns the policies that protect the label of admission on jobs and pods."""
    return [
        *(_of_kind(kind, engine) for kind in JOB_KINDS),
        *(_of_pod_controller(kind, engine) for kind in JOB_KINDS if kind.pod_controller is not None),
        _pods(engine),
    ]


def _of_kind(kind: JobKind, engine: Engine) -> Policy:
    rules = {
        f'variables.labels.all(l, !("{WORKLOAD_UID_LABEL}" in l) || '
        f'l["{WORKLOAD_UID_LABEL}"] in variables.oldUids)': MESSAGE
    }
    if kind.reserved_labels:
        origin = " && ".join(
            f'(!has(object.metadata.labels) || !("{key}" in object.metadata.labels) || '
            f'(request.operation == "UPDATE" && object.metadata.labels[?"{key}"] == '
            f'oldObject.metadata.?labels[?"{key}"]))'
            for key in kind.reserved_labels
        )
        rules[origin] = (
            f"the labels {', '.join(kind.reserved_labels)} are reserved for {kind.name}s that "
            f"{creators(kind)} creates: remove them"
        )
    return Policy(
        name=f"muster-{kind.plural}-claim-no-quota",
        **requests_of(kind),
        operations=("CREATE", "UPDATE"),
        rules=rules,
        condition=asked_by_users(engine, kind.operator),
        exempt_operators=users_of(kind),
        variables=group_variables(kind)
        | {
            "labels": _labels(kind, "object", "variables.groups"),
            "oldUids": from_old_object(
                f"({_labels(kind, 'oldObject', 'variables.oldGroups')})"
                f'.filter(l, "{WORKLOAD_UID_LABEL}" in l).map(l, l["{WORKLOAD_UID_LABEL}"])'
            ),
        },
    )


def _labels(kind: JobKind, root: str, groups: str) -> str:
    """CEL for all maps from which the operator takes pods' labels: groups of a Ray object have labels in
    addition to their template's."""
    single = [f"{path}.metadata.labels" for path in kind.templates]
    single += [f"{head(kind)}.labels"] if kind.ray_cluster else []
    of_groups = [f"{in_group(kind.groups.template)}.?metadata.?labels"] if kind.groups is not None else []
    of_groups += ["labels"] if kind.ray_cluster else []
    maps = [f"{groups}.map(g, g.?{path}.orValue({{}}))" for path in of_groups]
    singles = [values_at(root, single)] if single else []
    return " + ".join([*singles, *maps])


def _of_pod_controller(kind: JobKind, engine: Engine) -> Policy:
    """Returns the policy for what the operator creates for the pods, which inherit its template's labels."""
    controller = kind.pod_controller
    assert controller is not None
    label = f"spec.?template.?{UID_LABEL}"
    return Policy(
        name=f"muster-{controller.plural}-of-{kind.plural}-claim-no-quota",
        group=controller.group,
        resources=(controller.plural,),
        operations=("CREATE", "UPDATE"),
        rules={
            f'request.operation == "CREATE" ? !object.{label}.hasValue() : object.spec == oldObject.spec || '
            f"!object.{label}.hasValue() && !oldObject.{label}.hasValue()": MESSAGE,
            f'request.operation == "CREATE" || !oldObject.{label}.hasValue() || '
            f"({same_owners_and_finalizers()})": (
                f"this {controller.name} belongs to a {kind.name} with quota: only {kind.operator.name} "
                "changes its owner references and finalizers, or its pods would outlast the quota"
            ),
        },
        condition=f"!({is_trusted(engine, kind.operator)})",
    )


def _pods(engine: Engine) -> Policy:
    """Returns the policy for pods: KubeRay creates them, and the Job controller those of submitters. A pod
    also takes the labels of its Binding."""
    trusted = f"{is_trusted(engine)} || {may_write_status('batch', 'jobs')}"
    return Policy(
        name="muster-pods-claim-no-quota",
        group="",
        resources=("pods", "pods/status", "pods/binding", "bindings"),
        operations=("CREATE", "UPDATE"),
        rules={f'request.operation == "UPDATE" && object.{UID_LABEL} == oldObject.{UID_LABEL}': MESSAGE},
        label=WORKLOAD_UID_LABEL,
        condition=f"!({trusted})",
        exempt_operators=other_operators() | pod_controllers(),
    )
