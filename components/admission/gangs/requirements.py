"""Requirements of a queued gang: the engine can count it, and KubeRay can run and suspend it.

Source: KubeRay ray-operator/controllers/ray/utils/validation.go at v1.6.2 and v1.7.0; Kueue
pkg/controller/jobs/raycluster/raycluster_webhook.go and the schema of Workload.
"""

from components.admission.autoscaling import autoscales
from components.admission.counted import number_of_groups
from components.admission.elastic_jobs import gates_at_creation
from components.admission.gangs.redis_cleanup import heads_without_devices
from components.admission.gangs.topology import topology_annotations
from components.admission.pods import GRACE_SECONDS_MAX
from components.admission.ray import Engine, optional, value_at
from components.admission.templates import annotations, in_group, template_variables
from components.admission.unrequested import BOOKED
from muster.cluster.jobs.job_kind import JobKind, PodGroups
from muster.cluster.jobs.rayjob import RAY_JOB
from muster.objects.names import (
    MAX_EXEC_TIME_LABEL,
    RESIZE_MAXIMA,
    WRITTEN_OUT,
)

SET_BY_ADMISSION = (WRITTEN_OUT, *BOOKED, *RESIZE_MAXIMA.values())
"""Annotations of pod templates."""
POD_SETS_MAX = 18  # in a Workload: the head, the submitter and worker groups
TTL_SECONDS_MAX = 3600  # that a gang may keep its nodes after its end
REDIS = '"redis"'  # KubeRay's default backend of GCS fault tolerance
SCHEDULER = "default-scheduler"  # Kubernetes' own
POD_SET_NAME = "^[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$"
RESERVED_POD_SETS = ("head", "submitter")


def requirement_variables(kind: JobKind) -> dict[str, str]:
    """Returns the variables that the requirements of a kind use."""
    return template_variables(kind) | {
        "annotations": annotations("variables.templates"),
        "oldAnnotations": _old_annotations(),
    }


def _old_annotations() -> str:
    return annotations("variables.oldTemplates")


def requirements(kind: JobKind, engine: Engine) -> dict[str, str]:
    """Returns the rules for creations, and for updates of the fields that they read."""
    of_pods = _pods(kind, engine) | topology_annotations() | dict(kind.rules) | _counted(kind)
    if not kind.ray_cluster:
        return of_pods | (_group_count(kind.groups, kind.name) if kind.groups is not None else {})
    assert kind.groups is not None, "a Ray cluster has worker groups"
    of_cluster = _groups(kind, kind.groups) | heads_without_devices(kind) | _without_additions(kind)
    return of_cluster | of_pods | (_job() if kind is RAY_JOB else {})


def _counted(kind: JobKind) -> dict[str, str]:
    if not kind.count_annotation:
        return {}
    return {
        f"{number_of_groups(kind, 'object')} > 0": (
            f"a queued {kind.name} needs quota for at least one group: set {kind.suspend}, or, if it is 0, "
            f"the annotation {kind.count_annotation} with a number of at most 9 digits"
        )
    }


def _group_count(groups: PodGroups, kind: str, others: int = 0) -> dict[str, str]:
    most = POD_SETS_MAX - others
    return {
        f"size(variables.groups) <= {most}": (
            f"a queued {kind} has at most {most} {groups.noun}s: put identical pods into one group"
        )
    }


def _groups(kind: JobKind, groups: PodGroups) -> dict[str, str]:
    others = len(RESERVED_POD_SETS) if kind is RAY_JOB else 1
    reserved = ", ".join(f'"{name}"' for name in RESERVED_POD_SETS)
    named = f"g.groupName.matches('{POD_SET_NAME}') && !(g.groupName in [{reserved}])"
    low, high = "g.?minReplicas.orValue(0)", f"g.?maxReplicas.orValue({2**31 - 1})"
    sizes = f"0 <= {low} && {low} <= {high} && g.?replicas.orValue(0) >= 0 && g.?numOfHosts.orValue(1) >= 1"
    return _group_count(groups, kind.name, others) | {
        f"size(variables.groups) > {POD_SETS_MAX} || "
        "variables.groups.all(g, variables.groups.exists_one(h, h.groupName == g.groupName))": (
            f"two worker groups of a queued {kind.name} can't have the same groupName, as quota is reserved "
            "by name: give each a unique name"
        ),
        f"variables.groups.all(g, {named})": (
            f"the groupName of a queued {kind.name} must consist of at most 63 letters, digits and hyphens, "
            f"and not be one of {', '.join(RESERVED_POD_SETS)}"
        ),
        f"variables.groups.all(g, {sizes})": (
            f"each worker group of a queued {kind.name} needs 0 <= minReplicas <= maxReplicas, replicas >= 0 "
            "and numOfHosts >= 1, or KubeRay can't suspend it"
        ),
        # KubeRay deletes any pod of these names, and replaces its own while they still terminate
        # (raycluster_controller.go: reconcilePods).
        # Of an autoscaled cluster, the replacements wait for quota.
        f"{autoscales(kind)} || "
        "variables.groups.all(g, g.?scaleStrategy.?workersToDelete.orValue([]).size() == 0)": (
            f"only Ray's autoscaler chooses the pods that a {kind.name} deletes, and this one is not "
            "autoscaled: remove scaleStrategy.workersToDelete from the worker groups"
        ),
    }


def _pods(kind: JobKind, engine: Engine) -> dict[str, str]:
    set_by_admission = ", ".join(f'"{key}"' for key in SET_BY_ADMISSION)
    scheduled = (
        f"the pods of a queued {kind.name} are scheduled as soon as it is admitted, or they would hold quota "
        "without running:"
    )
    main = kind.templates[:1]
    containers = [f"{value_at('object', f'{path}.spec.containers', '[]')}.size() > 0" for path in main]
    if kind.groups is not None:
        of_groups = f"g.?{in_group(kind.groups.template)}.?spec.?containers.orValue([]).size() > 0"
        containers.append(f"variables.groups.all(g, {of_groups})")
    return {
        " && ".join(containers): (f"each pod template of a queued {kind.name} needs a container"),
        "variables.templates.all(t, t.?metadata.?finalizers.orValue([]).size() == 0)": (
            f"the pods of a queued {kind.name} have no finalizers, or they would hold quota after their "
            "deletion: remove metadata.finalizers from the pod templates"
        ),
        "variables.templates.all(t, !t.?spec.?workloadRef.hasValue() && "
        "!t.?spec.?schedulingGroup.hasValue())": (
            f"the pods of a queued {kind.name} are admitted as its gang alone: remove workloadRef and "
            "schedulingGroup from the pod templates, as Kubernetes would not schedule them before others"
        ),
        "variables.templates.all(t, "
        f"t.?spec.?terminationGracePeriodSeconds.orValue(0) <= {GRACE_SECONDS_MAX})": (
            f"the pods of a queued {kind.name} must stop within {GRACE_SECONDS_MAX} s when it is preempted: "
            "lower terminationGracePeriodSeconds, and save checkpoints more often"
        ),
        'variables.templates.all(t, t.?spec.?nodeName.orValue("") == "")': (
            f"a queued {kind.name} runs where its queue has quota: remove nodeName from the pod templates"
        ),
        f'variables.templates.all(t, t.?spec.?schedulerName.orValue("") in ["", "{SCHEDULER}"])': (
            f"{scheduled} remove schedulerName from the pod templates"
        ),
        # Muster adds its own gate to autoscaled workers; later changes are refused (PLACEMENT).
        f'request.operation == "UPDATE" || {gates_at_creation(engine)}': (
            f"{scheduled} remove schedulingGates from the pod templates"
        ),
        f"variables.annotations.all(a, [{set_by_admission}].all(k, !(k in a) || "
        "variables.oldAnnotations.exists(o, k in o && o[k] == a[k])))": (
            f"the annotations {', '.join(SET_BY_ADMISSION)} of the pod "
            f"templates of a queued {kind.name} are set by its admission: remove them"
        ),
        _run_time(): (f"the label {MAX_EXEC_TIME_LABEL} must be a number of seconds from 1 to {2**31 - 1}"),
    }


def _without_additions(kind: JobKind) -> dict[str, str]:
    """Returns the rules for additions of KubeRay 1.7 whose feature gates are off by default."""
    cluster = kind.ray_cluster
    history, tls, gcs = (
        f"{cluster}.{key}" for key in ("historyServerOptions", "tlsOptions", "gcsFaultToleranceOptions")
    )
    return {
        f"!{optional('object', history)}.hasValue()": (
            f"the pods of a queued {kind.name} have only the containers that its quota includes, but KubeRay "
            f"would add a collector to each: remove {history}"
        ),
        f"!{optional('object', tls)}.hasValue()": (
            f"a queued {kind.name} starts as soon as it is admitted, but KubeRay would wait for "
            f"certificates: remove {tls}"
        ),
        f"{value_at('object', f'{gcs}.backend', REDIS)} == {REDIS} && "
        f"!{optional('object', f'{gcs}.storage')}.hasValue()": (
            f"a queued {kind.name} starts as soon as it is admitted, but KubeRay would first create a volume "
            f"claim: remove {gcs}.backend and storage, and use Redis"
        ),
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
            "a queued RayJob needs backoffLimit >= 0, and activeDeadlineSeconds and "
            "preRunningDeadlineSeconds >= 1, or KubeRay can't suspend it"
        ),
        f"0 <= {ttl} && {ttl} <= {TTL_SECONDS_MAX}": (
            "a queued RayJob releases its nodes after it finishes: set ttlSecondsAfterFinished to at most "
            f"{TTL_SECONDS_MAX}"
        ),
        "has(object.spec.rayClusterSpec)": "a queued RayJob needs its own cluster: add spec.rayClusterSpec",
    }
