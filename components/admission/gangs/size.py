"""What is decided about a queued gang: whether it runs, in which queue, and how large it is.

Users may delete it, make it smaller (fewer replicas or groups), or suspend it: the engine starts an admitted
gang again. The rules hold for waiting gangs too, because between the reservation of its quota and its start
a gang still looks as if it waited; and for the RayClusters that KubeRay makes for RayJobs and RayServices.
"""

from components.admission.queues import SUSPENDABLE
from components.admission.ray import (
    QUEUE_LABEL,
    RAY_JOB,
    RAY_SERVICE,
    RayKind,
    at,
    optional,
    queue_of,
)
from components.admission.templates import same_in_all

SIZES = {"replicas": 0, "minReplicas": 0, "maxReplicas": 2**31 - 1, "numOfHosts": 1}
ANEW = "delete it and create it anew"
RESOURCES = (
    "spec.?containers.orValue([]).map(c, c.?resources)",
    "spec.?initContainers.orValue([]).map(c, c.?resources)",
    "spec.?initContainers.orValue([]).map(c, c.?restartPolicy)",  # Always: it runs beside the others
    "spec.?resources",
    "spec.?resourceClaims",
    "spec.?nodeSelector",  # by which the engine sends it to the flavor that has the quota
)


def stays_as_admitted(kind: RayKind) -> dict[str, str]:
    suspend, old_suspend = (at(root, kind.suspend, "false") for root in ("object", "oldObject"))
    autoscaling = f"{kind.cluster}.enableInTreeAutoscaling"
    grown = " && ".join(f"{_size('n', key)} <= {_size('o', key)}" for key in SIZES)
    rules = {
        f"{suspend} || !{old_suspend}": (
            f"{kind.suspend} of a queued {kind.name} is its queue's to lift, once all of the gang fits: "
            "leave it as it is (why it waits: kubectl get workloads)"
        ),
        f"{queue_of('object')} == {queue_of('oldObject')}": (
            f"a {kind.name} stays in the queue it was created in, or outside of all: to change its label "
            f"{QUEUE_LABEL}, {ANEW}"
        ),
        f"variables.groups.all(n, variables.oldGroups.exists(o, n.groupName == o.groupName && {grown} && "
        "(n.?suspend.orValue(false) || !o.?suspend.orValue(false))))": (
            f"a queued {kind.name} can't grow, because quota is reserved for the gang as it was created: "
            f"lower {', '.join(SIZES)} or remove worker groups as you like; for more, {ANEW}"
        ),
        f"!{at('object', autoscaling, 'false')} || {at('oldObject', autoscaling, 'false')}": (
            f"a queued {kind.name} can't grow, and so not be autoscaled: leave "
            f"{autoscaling} off, or run it outside the queues"
        ),
    }
    for rule in same_in_all(kind, RESOURCES):
        rules[rule] = (
            f"the pods of a queued {kind.name} keep their resources and nodeSelector, because quota is "
            f"reserved for those: for others, {ANEW}"
        )
    if kind is RAY_JOB:
        rules |= SUSPENDABLE
    if kind is RAY_SERVICE:
        rules[_same_cluster()] = (
            "this change makes KubeRay start a second cluster beside the admitted one, for which there is no "
            f"quota: change only serveConfigV2 and replicas, or {ANEW}"
        )
    return rules


def _size(group: str, key: str) -> str:
    return f"{group}.?{key}.orValue({SIZES[key]})"


def _same_cluster() -> str:
    """Whether KubeRay would see no other cluster in it (GenerateHashWithoutReplicasAndWorkersToDelete)."""
    of_groups = ("groupName", "template", "rayStartParams", "numOfHosts")
    parts = [
        f"variables.groups.map(g, g.?{key}) == variables.oldGroups.map(g, g.?{key})" for key in of_groups
    ]
    for key in ("headGroupSpec", "rayVersion"):
        path = f"{RAY_SERVICE.cluster}.{key}"
        parts.append(f"{optional('object', path)} == {optional('oldObject', path)}")
    in_place = 'object.spec.?upgradeStrategy.?type.orValue("") == "None"'
    return f"{in_place} || ({' && '.join(parts)})"
