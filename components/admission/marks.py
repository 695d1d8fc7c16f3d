"""The label that assigns pods to a Workload: only the engine and KubeRay may write it.

A pod with the label holds the Workload's quota until the pod is gone, wherever it runs. So users cannot set
it on a pod, on a Job whose pods would inherit it, or on a Ray object, queued or not.
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
from components.admission.templates import WORKLOAD_UID, before, group_variables, head, single_templates

# KubeRay recognizes the RayClusters that it created for RayJobs and RayServices by these labels.
ORIGIN = ("ray.io/originated-from-cr-name", "ray.io/originated-from-crd")
UID = f'metadata.?labels[?"{WORKLOAD_UID}"]'
MESSAGE = f"the label {WORKLOAD_UID} is set by admission only, as pods with it hold quota: remove it"


def marks_are_ours(engine: Engine) -> list[Policy]:
    return [*(_ray(kind, engine) for kind in RAY_KINDS), _pods(engine), _jobs(engine)]


def _ray(kind: RayKind, engine: Engine) -> Policy:
    rules = {
        f'variables.labels.all(l, !("{WORKLOAD_UID}" in l) || '
        f'l["{WORKLOAD_UID}"] in variables.oldUids)': MESSAGE
    }
    if kind is RAY_CLUSTER:
        origin = " && ".join(
            f'(!has(object.metadata.labels) || !("{key}" in object.metadata.labels) || '
            f'(request.operation == "UPDATE" && object.metadata.labels[?"{key}"] == '
            f'oldObject.metadata.?labels[?"{key}"]))'
            for key in ORIGIN
        )
        rules[origin] = (
            f"the labels {' and '.join(ORIGIN)} are reserved for RayClusters that KubeRay creates: "
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
            "oldUids": before(
                f"({_labels(kind, 'oldObject', 'variables.oldGroups')})"
                f'.filter(l, "{WORKLOAD_UID}" in l).map(l, l["{WORKLOAD_UID}"])'
            ),
        },
    )


def _labels(kind: RayKind, root: str, groups: str) -> str:
    """CEL for all maps from which KubeRay takes pods' labels: groups have labels beside their template's."""
    single = [f"{path}.metadata.labels" for path in single_templates(kind)]
    paths = ", ".join(f"?{optional(root, path)}" for path in [*single, f"{head(kind)}.labels"])
    of_groups = " + ".join(
        f"{groups}.map(g, g.?{path}.orValue({{}}))" for path in ("template.?metadata.?labels", "labels")
    )
    return f"[{paths}] + {of_groups}"


def _pods(engine: Engine) -> Policy:
    """Returns the policy for pods: KubeRay creates them, and the Job controller those of submitters."""
    makers = f"{is_trusted(engine)} || {may_write_status('batch', 'jobs')}"
    return Policy(
        name="muster-pods-claim-no-quota",
        group="",
        resources=("pods", "pods/status"),
        operations=("CREATE", "UPDATE"),
        rules={f'request.operation == "UPDATE" && object.{UID} == oldObject.{UID}': MESSAGE},
        label=WORKLOAD_UID,
        condition=f"!({makers})",
    )


def _jobs(engine: Engine) -> Policy:
    template = f"spec.?template.?{UID}"
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
