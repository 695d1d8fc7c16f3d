"""Pods that hold a Workload's quota keep what the engine, KubeRay and the garbage collector find them by.

Such a pod carries the UID of its Workload as a label, which users cannot write (reserved_labels.py). Without
its owner nothing would delete it, with a finalizer it would outlast its deletion, and larger than admitted it
would use quota of others. No team may write pods, but Roles that KubeRay or an administrator creates may
allow it.
"""

from components.admission.metadata import same_of_prefixes, same_owners_and_finalizers
from components.admission.ray import (
    Engine,
    Policy,
    is_trusted,
    may_write_status,
    other_operators,
    pod_controllers,
)
from components.admission.unrequested import FORMER_BOOKED
from muster.cluster.jobs.kinds import OPERATORS, alternatives
from muster.objects.names import KUEUE_GROUP, MUSTER_PREFIX, RESIZE_MAXIMA, WORKLOAD_UID_LABEL
from settings.model.tenants.tenant import TENANT

PREFIXES = tuple(prefix for operator in OPERATORS for prefix in operator.label_prefixes)
# Read by operators, the Job controller and the engine. The UID itself: reserved_labels.py.
LABELS = (*PREFIXES, f"{KUEUE_GROUP}/", "job-name", "controller-uid")
GRACE_SECONDS_MAX = 300
"""Seconds that a pod of a gang may keep its node after its preemption."""
RESIZE_STATUS = "ray.io/ippr-status"
"""Set by Ray's autoscaler on pods, for itself: the state of a resize in place."""
ANNOTATIONS = (*PREFIXES, f"{KUEUE_GROUP}/", MUSTER_PREFIX, "autoscaling.x-k8s.io/", *FORMER_BOOKED)


def pods_of_gangs(engine: Engine) -> list[Policy]:
    """Returns the policies for updates, resizes, deletions and evictions of gangs' pods."""
    return [_unchanged(engine), _resized(engine), _deleted(engine), _evicted(engine)]


def _unchanged(engine: Engine) -> Policy:
    """Returns the policy for updates of a pod. Kubelets, the scheduler, the garbage collector and Kubernetes'
    other controllers of pods may write the status of all pods; the Job controller has a finalizer on its."""
    metadata = (
        same_owners_and_finalizers(),
        same_of_prefixes("labels", LABELS),
        same_of_prefixes("annotations", ANNOTATIONS, exempt=RESIZE_STATUS),
    )
    return Policy(
        name="muster-pods-of-gangs-are-kept",
        group="",
        resources=("pods", "pods/status"),
        operations=("UPDATE",),
        rules={
            " && ".join(metadata): (
                f"a pod with the label {WORKLOAD_UID_LABEL} holds quota until it is deleted: only "
                f"{', '.join(operator.name for operator in OPERATORS)} and Kubernetes may change its "
                "owner references, its finalizers, and its labels and annotations of "
                f"{', '.join(g.rstrip('/') for g in PREFIXES)}, kueue.x-k8s.io and muster.dev"
            ),
            'request.?subResource.orValue("") == "status" || object.spec == oldObject.spec': (
                f"the spec of a pod with the label {WORKLOAD_UID_LABEL} is immutable, as quota is reserved "
                f"for it: change its {alternatives()}"
            ),
            'request.?subResource.orValue("") != "status" || object.?status == oldObject.?status': (
                f"the status of a pod with the label {WORKLOAD_UID_LABEL} determines whether it holds "
                "quota: only Kubernetes may write it"
            ),
        },
        label=WORKLOAD_UID_LABEL,
        condition=f"!({is_trusted(engine)})",
        exempt=f"{may_write_status('', 'pods')} || {may_write_status('batch', 'jobs')}",
        exempt_operators=other_operators() | pod_controllers(),
    )


def _resized(engine: Engine) -> Policy:
    """Returns the policy for in-place resizes. The bound is the pod's current size, not its size at
    creation: the API server sees these two versions only, and a resize that was refused leaves no trace. The
    bound of the first container is what its annotations say, which its admission sets, if that is larger."""
    containers = " && ".join(
        f"object.spec.?{key}.orValue([]).all(n, oldObject.spec.?{key}.orValue([]).exists(o, o.name == n.name "
        f"&& {_within('n.?resources', 'o.?resources', or_less)}))"
        for key, or_less in (("containers", _LESS_THAN_MAXIMUM), ("initContainers", ""))
    )
    of_pod = _within("object.spec.?resources", "oldObject.spec.?resources")
    return Policy(
        name="muster-pods-of-gangs-do-not-grow",
        group="",
        resources=("pods/resize",),
        operations=("UPDATE",),
        rules={
            f"{containers} && {of_pod}": (
                f"a pod with the label {WORKLOAD_UID_LABEL} cannot exceed its reserved quota: resize it to "
                f"lower requests and limits, or replace its {alternatives()} with a larger one, or an "
                "autoscaled Ray object with one whose annotation ray.io/ippr has a larger maximum"
            )
        },
        label=WORKLOAD_UID_LABEL,
        condition=f"!({is_trusted(engine)})",
        exempt_operators=other_operators(),
    )


def _deleted(engine: Engine) -> Policy:
    """Returns the policy for deletions. A pod runs on during the grace period that its deletion names, of
    any length, while its controller replaces it at once."""
    return Policy(
        name="muster-pods-of-gangs-stop-in-time",
        group="",
        resources=("pods",),
        operations=("DELETE",),
        rules=_in_time("request.options.?gracePeriodSeconds"),
        label=WORKLOAD_UID_LABEL,
        condition=f"!({is_trusted(engine)})",
        exempt_operators=other_operators(),
    )


def _evicted(engine: Engine) -> Policy:
    """Returns the policy for evictions, which do not show the pod's labels."""
    return Policy(
        name="muster-evicted-pods-stop-in-time",
        group="",
        resources=("pods/eviction",),
        operations=("CREATE",),
        rules=_in_time("object.?deleteOptions.?gracePeriodSeconds"),
        namespaces=TENANT,
        condition=f"!({is_trusted(engine)})",
        exempt=may_write_status("", "pods"),
    )


def _in_time(grace: str) -> dict[str, str]:
    return {
        f"{grace}.orValue(0) <= {GRACE_SECONDS_MAX}": (
            f"a pod of a gang stops within {GRACE_SECONDS_MAX} s, as another pod replaces it while it still "
            "uses its quota: lower the grace period of this request (kubectl delete --grace-period), or name "
            "none"
        )
    }


def _within(new: str, old: str, or_less: str = "") -> str:
    """CEL for: no request and no limit is new or larger, and no limit is removed. `or_less` is CEL for an
    amount {0} of the resource k that may be larger."""
    requests, limits = ((f"{new}.?{key}.orValue({{}})", f"{old}.?{key}.orValue({{}})") for key in _AMOUNTS)
    not_larger = "quantity(string({0}[k])).compareTo(quantity(string({1}[k]))) <= 0"
    if or_less:
        not_larger = f"({not_larger} || {or_less})"
    return (
        f"{requests[0]}.all(k, k in {requests[1]} && {not_larger.format(*requests)}) && "
        f"{limits[1]}.all(k, k in {limits[0]} && {not_larger.format(*limits)})"
    )


def _less_than_maximum() -> str:
    keys = ", ".join(f'"{resource}": "{key}"' for resource, key in RESIZE_MAXIMA.items())
    keys = f"{{{{{keys}}}}}"  # survives str.format
    key = f"{keys}[?k].orValue('')"
    annotations = "oldObject.metadata.?annotations.orValue({{}})"
    return (
        f"(n.name == oldObject.spec.containers[0].name && {key} in {annotations} && "
        f"quantity(string({{0}}[k])).compareTo(quantity({annotations}[{key}])) <= 0)"
    )


_LESS_THAN_MAXIMUM = _less_than_maximum()
_AMOUNTS = ("requests", "limits")
