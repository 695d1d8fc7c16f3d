"""Labels that only the engine and KubeRay may write: pods' Workload, and the origin of RayClusters.

A pod with the label of a Workload holds its quota until the pod is deleted, on any node. So users cannot
set it on a pod, on a Job whose pods would inherit it, or on a Ray object, queued or not.
"""

from components.admission.ray import (
    RAY_CLUSTER,
    RAY_KINDS,
    Engine,
    Policy,
    RayKind,
    asked_by_users,
    is_trusted,
    may_write_status,
    optional,
)
from components.admission.templates import from_old_object, group_variables, head, single_templates
from muster.objects.names import WORKLOAD_UID_LABEL

# KubeRay recognizes the RayClusters that it created for RayJobs and RayServices by these labels.
ORIGIN_LABELS = ("ray.io/originated-from-cr-name", "ray.io/originated-from-crd")
UID_LABEL = f'metadata.?labels[?"{WORKLOAD_UID_LABEL}"]'
MESSAGE = f"the label {WORKLOAD_UID_LABEL} is set by admission only, as pods with it hold quota: remove it"


def reserved_labels(engine: Engine) -> list[Policy]:
    return [*(_ray(kind, engine) for kind in RAY_KINDS), _pods(engine), _jobs(engine)]


def _ray(kind: RayKind, engine: Engine) -> Policy:
    rules = {
        f'variables.labels.all(l, !("{WORKLOAD_UID_LABEL}" in l) || '
        f'l["{WORKLOAD_UID_LABEL}"] in variables.oldUids)': MESSAGE
    }
    if kind is RAY_CLUSTER:
        origin = " && ".join(
            f'(!has(object.metadata.labels) || !("{key}" in object.metadata.labels) || '
            f'(request.operation == "UPDATE" && object.metadata.labels[?"{key}"] == '
            f'oldObject.metadata.?labels[?"{key}"]))'
            for key in ORIGIN_LABELS
        )
        rules[origin] = (
            f"the labels {' and '.join(ORIGIN_LABELS)} are reserved for RayClusters that KubeRay creates: "
            "remove them"
        )
    return Policy(
        name=f"muster-{kind.resource}-claim-no-quota",
        resources=(kind.resource,),
        operations=("CREATE", "UPDATE"),
        rules=rules,
        condition=asked_by_users(engine),
        variables=group_variables(kind)
        | {
            "labels": _labels(kind, "object", "variables.groups"),
            "oldUids": from_old_object(
                f"({_labels(kind, 'oldObject', 'variables.oldGroups')})"
                f'.filter(l, "{WORKLOAD_UID_LABEL}" in l).map(l, l["{WORKLOAD_UID_LABEL}"])'
            ),
        },
    )


def _labels(kind: RayKind, root: str, groups: str) -> str:
    """CEL for all maps from which KubeRay takes pods' labels: groups have labels in addition to their
    template's."""
    single = [f"{path}.metadata.labels" for path in single_templates(kind)]
    paths = ", ".join(f"?{optional(root, path)}" for path in [*single, f"{head(kind)}.labels"])
    of_groups = " + ".join(
        f"{groups}.map(g, g.?{path}.orValue({{}}))" for path in ("template.?metadata.?labels", "labels")
    )
    return f"[{paths}] + {of_groups}"


def _pods(engine: Engine) -> Policy:
    """Returns the policy for pods: KubeRay creates them, and the Job controller creates submitters. A pod
    also takes the labels of its Binding."""
    creators = f"{is_trusted(engine)} || {may_write_status('batch', 'jobs')}"
    return Policy(
        name="muster-pods-claim-no-quota",
        group="",
        resources=("pods", "pods/status", "pods/binding", "bindings"),
        operations=("CREATE", "UPDATE"),
        rules={f'request.operation == "UPDATE" && object.{UID_LABEL} == oldObject.{UID_LABEL}': MESSAGE},
        label=WORKLOAD_UID_LABEL,
        condition=f"!({creators})",
    )


def _jobs(engine: Engine) -> Policy:
    template = f"spec.?template.?{UID_LABEL}"
    return Policy(
        name="muster-jobs-claim-no-quota",
        group="batch",
        resources=("jobs",),
        operations=("CREATE", "UPDATE"),
        rules={
            f'!object.{template}.hasValue() || (request.operation == "UPDATE" && '
            f"object.{template} == oldObject.{template})": MESSAGE
        },
        condition=f"!({is_trusted(engine)})",
    )
