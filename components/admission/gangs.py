"""Policies that keep a queued gang what its queue admits: users can't start, move or grow it.

They may delete it, make it smaller (fewer replicas or groups), or suspend it: the engine starts an admitted
gang again. The rules hold for waiting gangs too, because between the reservation of its quota and its start
a gang still looks as if it waited; and for the RayClusters that KubeRay makes for RayJobs and RayServices.
"""

from components.admission.queues import SUSPENDABLE
from components.admission.ray import (
    QUEUE_LABEL,
    RAY_JOB,
    RAY_KINDS,
    RAY_SERVICE,
    Engine,
    Policy,
    RayKind,
    asked_by_users,
    at,
    optional,
    queue_of,
)

SIZES = {"replicas": 0, "minReplicas": 0, "maxReplicas": 2**31 - 1, "numOfHosts": 1}
ANEW = "delete it and create it anew"


def queued_gangs(engine: Engine) -> list[Policy]:
    return [
        Policy(
            name=f"muster-queued-{kind.resource}-stay-as-admitted",
            resources=(kind.resource,),
            operations=("UPDATE",),
            rules=_rules(kind),
            queued=True,
            condition=asked_by_users(engine),
            variables=_variables(kind),
        )
        for kind in RAY_KINDS
    ]


def _variables(kind: RayKind) -> dict[str, str]:
    groups = f"{kind.cluster}.workerGroupSpecs"
    return {"groups": at("object", groups, "[]"), "oldGroups": at("oldObject", groups, "[]")}


def _rules(kind: RayKind) -> dict[str, str]:
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
    for same in _same_pods(kind):
        rules[same] = (
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


def _same_pods(kind: RayKind) -> list[str]:
    """Whether the pods of each template ask the scheduler for the same, in the same order of containers."""
    templates = [f"{kind.cluster}.headGroupSpec.template"]
    if kind is RAY_JOB:
        templates.append("spec.submitterPodTemplate")
    pairs = [(optional("object", path), optional("oldObject", path)) for path in templates]
    of_groups = _same_requests("n.?template", "o.?template")
    return [
        *(_same_requests(new, old) for new, old in pairs),
        f"variables.groups.all(n, variables.oldGroups.all(o, n.groupName != o.groupName || ({of_groups})))",
    ]


def _same_requests(new: str, old: str) -> str:
    asked = (
        "containers.orValue([]).map(c, c.?resources)",
        "initContainers.orValue([]).map(c, c.?resources)",
        "initContainers.orValue([]).map(c, c.?restartPolicy)",  # Always: it runs beside the others
        "resources",
        "resourceClaims",
        "nodeSelector",  # by which the engine sends it to the flavor that has the quota
    )
    return " && ".join(f"{new}.?spec.?{part} == {old}.?spec.?{part}" for part in asked)


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
