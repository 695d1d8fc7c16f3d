"""Fields of a queued gang that users cannot change, so that the engine can place it and KubeRay suspend it.

KubeRay validates an object before it acts on it (ray-operator/controllers/ray/utils/validation.go at v1.6.2
and v1.7.0). It ignores an invalid one: the pods keep running, whatever spec.suspend says. It also creates
Services and other objects before it looks at the pods, and stops at the first failure. So all fields that
these depend on are immutable.
"""

from components.admission.counted import is_suspended
from components.admission.gangs.queue_managed_fields import RECREATE
from components.admission.gangs.requirements import SET_BY_ADMISSION
from components.admission.gangs.topology import ANNOTATIONS
from components.admission.metadata import same_of_prefixes
from components.admission.ray import optional
from components.admission.templates import head, in_group, same_in_all, same_in_groups
from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.rayjob import RAY_JOB
from muster.cluster.jobs.rayservice import RAY_SERVICE, UPGRADE_REMEDY
from muster.objects.names import (
    MAX_EXEC_TIME_LABEL,
    PRIORITY_LABEL,
    PROVREQ_ANNOTATION_PREFIX,
    WORKLOAD_UID_LABEL,
)

# Placement, priority and shutdown of a pod.
PLACEMENT = (
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "schedulerName",
    "schedulingGates",
    "nodeName",
    "priorityClassName",
    "priority",
    "preemptionPolicy",
    "runtimeClassName",  # its overhead counts as a request
    "overhead",
    "hostNetwork",
    "restartPolicy",
    "readinessGates",
    "activeDeadlineSeconds",
    "terminationGracePeriodSeconds",
)
# KubeRay reads Redis and autoscaler settings from these; it refuses values that contradict the spec.
ENVIRONMENT = ("RAY_REDIS_ADDRESS", "REDIS_PASSWORD", "REDIS_USERNAME", "RAY_enable_autoscaler_v2")
CLUSTER_KEYS = (
    "authOptions",
    "autoscalerOptions",
    "gcsFaultToleranceOptions",
    "headServiceAnnotations",
    "upgradeStrategy",
)
HEAD_KEYS = ("rayStartParams", "resources", "labels", "serviceType", "headService", "enableIngress")
GROUP_KEYS = ("rayStartParams", "resources", "labels", "idleTimeoutSeconds", "priority")
JOB_KEYS = (
    "submissionMode",
    "submitterConfig",
    "backoffLimit",
    "deletionStrategy",
    "jobId",
    "runtimeEnvYAML",
    "activeDeadlineSeconds",
    "preRunningDeadlineSeconds",
)


def immutable_fields(kind: JobKind) -> dict[str, str]:
    """Returns the rules for updates: each CEL expression with its message."""
    pods = (
        f"the pods of a queued {kind.name} keep the fields of their placement, priority and shutdown "
        f"({', '.join(PLACEMENT)}): to change them, {RECREATE}"
    )
    rules = dict.fromkeys(same_in_all(kind, tuple(f"spec.?{key}" for key in PLACEMENT)), pods)
    set_by_admission = (
        f"the pod templates of a queued {kind.name} keep their label {WORKLOAD_UID_LABEL} and the "
        "annotations that place them, which its admission sets: to start again from your own manifest, "
        f"{RECREATE}"
    )
    annotations = (*SET_BY_ADMISSION, *ANNOTATIONS)
    paths = (
        f'metadata.?labels[?"{WORKLOAD_UID_LABEL}"]',
        *(f'metadata.?annotations[?"{key}"]' for key in annotations),
    )
    rules |= dict.fromkeys(same_in_all(kind, paths), set_by_admission)
    if kind.ray_cluster:
        rules |= _ray_settings(kind)
    if kind.groups is not None and kind.groups.frozen:
        rules[same_in_groups(kind.groups, tuple(map(in_group, kind.groups.frozen)))] = (
            f"the {kind.groups.noun}s of a queued {kind.name} keep {', '.join(kind.groups.frozen)}: to "
            f"change them, {RECREATE}"
        )
    if kind.frozen:
        rules[" && ".join(f"({_same(path)})" for path in kind.frozen)] = (
            f"a queued {kind.name} keeps {', '.join(kind.frozen)}: to change them, {RECREATE}"
        )
    return rules | _same_metadata(kind)


def _ray_settings(kind: JobKind) -> dict[str, str]:
    settings = [_same(f"{kind.ray_cluster}.{key}") for key in CLUSTER_KEYS]
    settings += [_same(f"{head(kind)}.{key}") for key in HEAD_KEYS]
    assert kind.groups is not None, "a Ray cluster has worker groups"
    settings += [same_in_groups(kind.groups, GROUP_KEYS), _same_environment(kind)]
    # KubeRay checks the version of a cluster with authentication.
    version, tokens = (
        _same(f"{kind.ray_cluster}.rayVersion"),
        optional("object", f"{kind.ray_cluster}.authOptions"),
    )
    settings.append(f"!{tokens}.hasValue() || {version}")
    if kind is RAY_JOB:
        settings += [_same(f"spec.{key}") for key in JOB_KEYS]
    rules = {
        " && ".join(f"({same})" for same in settings): (
            f"a queued {kind.name} keeps the settings that KubeRay checks before it suspends it "
            f"({', '.join(_names(kind))}): to change them, {RECREATE}"
        )
    }
    if kind is RAY_SERVICE:
        rules[_same_upgrade()] = (
            "a queued RayService is never upgraded with a second cluster, which would have no quota: "
            f"{UPGRADE_REMEDY}"
        )
    return rules


def _same(path: str) -> str:
    return f"{optional('object', path)} == {optional('oldObject', path)}"


def _names(kind: JobKind) -> list[str]:
    of_job = JOB_KEYS if kind is RAY_JOB else ()
    return list(dict.fromkeys((*of_job, *CLUSTER_KEYS, *HEAD_KEYS, *GROUP_KEYS, "env of Redis")))


def _same_environment(kind: JobKind) -> str:
    names = ", ".join(f'"{name}"' for name in ENVIRONMENT)
    values = f"containers.orValue([]).map(c, c.?env.orValue([]).filter(e, e.name in [{names}]))"
    path = f"{head(kind)}.template.spec"
    return f"{optional('object', path)}.?{values} == {optional('oldObject', path)}.?{values}"


def _same_upgrade() -> str:
    new, old = (optional(root, "spec.upgradeStrategy.type") for root in ("object", "oldObject"))
    return f'{new}.orValue("") == "None" || {new} == {old}'


def _same_metadata(kind: JobKind) -> dict[str, str]:
    waits, prefixes = is_suspended(kind, "oldObject"), kind.operator.label_prefixes
    labels = [
        f'object.metadata.?labels[?"{key}"] == oldObject.metadata.?labels[?"{key}"]'
        for key in (PRIORITY_LABEL, MAX_EXEC_TIME_LABEL)
    ]
    provisioning = same_of_prefixes("annotations", [PROVREQ_ANNOTATION_PREFIX])
    return {
        f"{waits} || ({' && '.join([*labels, provisioning])})": (
            f"a running {kind.name} keeps the labels {PRIORITY_LABEL} and {MAX_EXEC_TIME_LABEL} and the "
            f"annotations {PROVREQ_ANNOTATION_PREFIX}… of its admission: change them while it waits, or "
            f"{RECREATE}"
        ),
        f"{same_of_prefixes('annotations', prefixes)} && {same_of_prefixes('labels', prefixes)}": (
            f"a queued {kind.name} keeps its labels and annotations {', '.join(f'{p}…' for p in prefixes)}, "
            f"which {kind.operator.name} acts on: to change them, {RECREATE}"
        ),
    }
