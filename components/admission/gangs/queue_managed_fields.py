"""Fields that the queue manages: whether a queued gang runs, its queue, and its size.

Users may delete it, shrink it (fewer replicas or groups), or suspend it: the engine resumes an admitted gang.
Of an autoscaled gang they may change the replicas, which its quota limits.
The rules apply to waiting gangs too, because a gang with reserved quota still looks as if it waited until it
starts; and to the RayClusters that KubeRay creates for RayJobs and RayServices.
"""

from components.admission.autoscaling import autoscales
from components.admission.counted import is_suspended, number_of_groups
from components.admission.queues import SUSPENDABLE
from components.admission.ray import optional, queue_of, value_at
from components.admission.templates import in_group, same_in_all
from muster.cluster.jobs.job_kind import JobKind, PodGroups
from muster.cluster.jobs.rayjob import RAY_JOB
from muster.cluster.jobs.rayservice import RAY_SERVICE
from muster.objects.names import QUEUE_LABEL

LIMITS = ("minReplicas", "maxReplicas", "numOfHosts")
RECREATE = "delete it and create it again"
RESOURCES = (
    "spec.?containers.orValue([]).map(c, c.?resources)",
    "spec.?initContainers.orValue([]).map(c, c.?resources)",
    "spec.?initContainers.orValue([]).map(c, c.?restartPolicy)",  # Always: a sidecar
    "spec.?resources",
    "spec.?resourceClaims",
    "spec.?nodeSelector",  # sends the pods to the flavor that has the quota
)


def queue_managed_fields(kind: JobKind) -> dict[str, str]:
    """Returns the rules for fields of a queued job that only its queue may change."""
    rules = _stays_suspended(kind)
    rules |= {
        f"{queue_of('object')} == {queue_of('oldObject')}": (
            f"a {kind.name} stays in the queue it was created in, or outside all queues: to change its label "
            f"{QUEUE_LABEL}, {RECREATE}"
        ),
    } | _fixed_sizes(kind)
    for rule in same_in_all(kind, RESOURCES):
        rules[rule] = (
            f"the pods of a queued {kind.name} keep their resources and nodeSelector, because quota is "
            f"reserved for them: to change them, {RECREATE}"
        )
    if kind is RAY_JOB:
        rules |= SUSPENDABLE
    if kind is RAY_SERVICE:
        rules[_same_cluster()] = (
            "this change makes KubeRay start a second cluster without quota, in addition to the "
            f"admitted one: change only serveConfigV2 and replicas, or {RECREATE}"
        )
    return rules


def _stays_suspended(kind: JobKind) -> dict[str, str]:
    if kind.count_annotation:
        new, old = (is_suspended(kind, root) for root in ("object", "oldObject"))
        return {f"{new} || !{old}": _managed_by_the_queue(kind, kind.suspend)}
    rules: dict[str, str] = {}
    for path in kind.suspends:
        new, old = (value_at(root, path, "false") for root in ("object", "oldObject"))
        rules[f"{new} || !{old}"] = _managed_by_the_queue(kind, path)
    return rules


def _managed_by_the_queue(kind: JobKind, path: str) -> str:
    return (
        f"{path} of a queued {kind.name} is managed by its queue, which resumes it when the whole gang fits: "
        "do not change it (why it waits: kubectl get workloads)"
    )


def _fixed_sizes(kind: JobKind) -> dict[str, str]:
    rules: dict[str, str] = {}
    fixed = f"a queued {kind.name} cannot grow, as quota is reserved for the size at its creation: you may "
    if kind.groups is not None:
        rules[_unless_autoscaled(kind, _each_group(kind.groups, _smaller(kind, kind.groups)))] = (
            f"{fixed}lower {', '.join(kind.groups.sizes)} or remove {kind.groups.noun}s; for a larger gang, "
            f"{RECREATE}"
        )
        if kind.ray_cluster:
            same = " && ".join(
                f"{_size(kind.groups, 'n', k)} == {_size(kind.groups, 'o', k)}" for k in LIMITS
            )
            stays = f"{same} && n.?suspend.orValue(false) == o.?suspend.orValue(false)"
            count = "size(variables.groups) == size(variables.oldGroups)"
            rules[f"!{autoscales(kind)} || ({count} && {_each_group(kind.groups, stays)})"] = (
                f"a queued, autoscaled {kind.name} keeps its worker groups and their {', '.join(LIMITS)}, "
                f"which its queue manages: you may change replicas; for other limits, {RECREATE}"
            )
    if kind.count_annotation:
        new, old = (number_of_groups(kind, root) for root in ("object", "oldObject"))
        rules[f"{new} <= {old}"] = f"{fixed}lower {kind.suspend}; for a larger gang, {RECREATE}"
    for path, default in kind.sizes.items():
        new, old = (value_at(root, path, str(default)) for root in ("object", "oldObject"))
        rules[f"{new} <= {old}"] = f"{fixed}lower {path}; for a larger gang, {RECREATE}"
    return rules


def _smaller(kind: JobKind, groups: PodGroups) -> str:
    smaller = " && ".join(f"{_size(groups, 'n', key)} <= {_size(groups, 'o', key)}" for key in groups.sizes)
    if not kind.ray_cluster:
        return smaller
    return f"{smaller} && (n.?suspend.orValue(false) || !o.?suspend.orValue(false))"


def _unless_autoscaled(kind: JobKind, rule: str) -> str:
    return f"{autoscales(kind)} || {rule}" if kind.ray_cluster else rule


def _each_group(groups: PodGroups, condition: str) -> str:
    same = f"n.{groups.name} == o.{groups.name}"
    return f"variables.groups.all(n, variables.oldGroups.exists(o, {same} && {condition}))"


def _size(groups: PodGroups, group: str, key: str) -> str:
    return f"{group}.?{in_group(key)}.orValue({groups.sizes[key]})"


def _same_cluster() -> str:
    """CEL for: KubeRay keeps the RayService's cluster (GenerateHashWithoutReplicasAndWorkersToDelete)."""
    of_groups = ("groupName", "template", "rayStartParams", "numOfHosts")
    parts = [
        f"variables.groups.map(g, g.?{key}) == variables.oldGroups.map(g, g.?{key})" for key in of_groups
    ]
    for key in ("headGroupSpec", "rayVersion"):
        path = f"{RAY_SERVICE.ray_cluster}.{key}"
        parts.append(f"{optional('object', path)} == {optional('oldObject', path)}")
    in_place = 'object.spec.?upgradeStrategy.?type.orValue("") == "None"'
    return f"{in_place} || ({' && '.join(parts)})"
