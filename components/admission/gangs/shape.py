"""What a queued gang has to be like for the engine to count it, and for KubeRay to run and suspend it.

Source: KubeRay ray-operator/controllers/ray/utils/validation.go at v1.6.2; Kueue
pkg/controller/jobs/raycluster/raycluster_webhook.go and the schema of Workload.
"""

from components.admission.gangs.frozen import CONSUME, MAX_EXEC_TIME_LABEL, PROVISIONING_CLASS
from components.admission.gangs.topology import topology_can_be_read
from components.admission.ray import RAY_JOB, RayKind, at
from components.admission.templates import WRITTEN_OUT, annotations, head, template_variables

POD_SETS_MAX = 18  # of a Workload: the head, the submitter and worker groups
# How long a preempted gang may keep its nodes after it was stopped, and a finished one after its end.
GRACE_SECONDS_MAX = 300
TTL_SECONDS_MAX = 3600
POD_SET_NAME = "^[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$"
RESERVED = ("head", "submitter")


def shape_variables(kind: RayKind) -> dict[str, str]:
    return template_variables(kind) | {
        "annotations": annotations("variables.templates"),
        "oldAnnotations": before_annotations(),
    }


def before_annotations() -> str:
    return annotations("variables.oldTemplates")


def can_be_admitted(kind: RayKind) -> dict[str, str]:
    """Rules of creations, and of updates of what they look at."""
    return _groups(kind) | _pods(kind) | topology_can_be_read() | (_job() if kind is RAY_JOB else {})


def _groups(kind: RayKind) -> dict[str, str]:
    others = len(RESERVED) if kind is RAY_JOB else 1
    reserved = ", ".join(f'"{name}"' for name in RESERVED)
    named = f"g.groupName.matches('{POD_SET_NAME}') && !(g.groupName in [{reserved}])"
    low, high = "g.?minReplicas.orValue(0)", f"g.?maxReplicas.orValue({2**31 - 1})"
    sizes = f"0 <= {low} && {low} <= {high} && g.?replicas.orValue(0) >= 0 && g.?numOfHosts.orValue(1) >= 1"
    return {
        f"size(variables.groups) <= {POD_SETS_MAX - others}": (
            f"a queued {kind.name} has at most {POD_SETS_MAX - others} worker groups: put pods that are "
            "alike into one"
        ),
        f"size(variables.groups) > {POD_SETS_MAX} || "
        "variables.groups.all(g, variables.groups.exists_one(h, h.groupName == g.groupName))": (
            f"two worker groups of a queued {kind.name} can't have the same groupName, by which quota is "
            "reserved: give each a name of its own"
        ),
        f"variables.groups.all(g, {named})": (
            f"the groupName of a queued {kind.name} has to be of letters, digits and hyphens, at most 63, "
            f"and none of {', '.join(RESERVED)}"
        ),
        f"variables.groups.all(g, {sizes})": (
            f"each worker group of a queued {kind.name} needs 0 <= minReplicas <= maxReplicas, replicas from "
            "0 on and numOfHosts from 1 on, or KubeRay can't suspend it"
        ),
    }


def _pods(kind: RayKind) -> dict[str, str]:
    ours = ", ".join(f'"{key}"' for key in (WRITTEN_OUT, CONSUME, PROVISIONING_CLASS))
    containers = f"{at('object', f'{head(kind)}.template.spec.containers', '[]')}.size() > 0"
    return {
        f"{containers} && variables.groups.all(g, g.?template.?spec.?containers.orValue([]).size() > 0)": (
            f"each pod template of a queued {kind.name} needs a container"
        ),
        "variables.templates.all(t, t.?metadata.?finalizers.orValue([]).size() == 0)": (
            f"the pods of a queued {kind.name} have no finalizers, or they would keep their quota after they "
            "are deleted: remove metadata.finalizers from the pod templates"
        ),
        "variables.templates.all(t, "
        f"t.?spec.?terminationGracePeriodSeconds.orValue(0) <= {GRACE_SECONDS_MAX})": (
            f"the pods of a queued {kind.name} leave within {GRACE_SECONDS_MAX} s when it is preempted: "
            "lower terminationGracePeriodSeconds, and save checkpoints more often"
        ),
        'variables.templates.all(t, t.?spec.?nodeName.orValue("") == "")': (
            f"a queued {kind.name} runs where its queue has quota: remove nodeName from the pod templates"
        ),
        f"variables.annotations.all(a, [{ours}].all(k, !(k in a) || "
        "variables.oldAnnotations.exists(o, k in o && o[k] == a[k])))": (
            f"the annotations {', '.join((WRITTEN_OUT, CONSUME, PROVISIONING_CLASS))} of the pod templates "
            f"of a queued {kind.name} are written by its admission: remove them"
        ),
        _run_time(): (f"the label {MAX_EXEC_TIME_LABEL} has to be a number of seconds from 1 to {2**31 - 1}"),
    }


def _run_time() -> str:
    label = f'object.metadata.?labels[?"{MAX_EXEC_TIME_LABEL}"].orValue("1")'
    return f"{label}.matches('^[0-9]{{1,10}}$') && int({label}) >= 1 && int({label}) < {2**31}"


def _job() -> dict[str, str]:
    ttl = "object.spec.?ttlSecondsAfterFinished.orValue(0)"
    positive = " && ".join(
        f"object.spec.?{key}.orValue(1) >= 1"
        for key in ("activeDeadlineSeconds", "preRunningDeadlineSeconds")
    )
    backoff = "object.spec.?backoffLimit.orValue(0)"
    return {
        f"{backoff} >= 0 && {positive}": (
            "a queued RayJob needs backoffLimit from 0 on and activeDeadlineSeconds and "
            "preRunningDeadlineSeconds from 1 on, or KubeRay can't suspend it"
        ),
        f"0 <= {ttl} && {ttl} <= {TTL_SECONDS_MAX}": (
            "a queued RayJob gives its nodes back after it finished: set ttlSecondsAfterFinished to at most "
            f"{TTL_SECONDS_MAX}"
        ),
        "has(object.spec.rayClusterSpec)": "a queued RayJob brings its own cluster: add spec.rayClusterSpec",
    }
