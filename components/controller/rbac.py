"""RBAC rules of Muster's controller and page, one a line, so that a diff shows the rights that it adds or
removes.

Every right is needed today; none is here for later.
"""

from pulumi_kubernetes.rbac.v1 import PolicyRuleArgs

from muster.cluster.jobs.kinds import JOB_KINDS, RESOURCES
from muster.objects.names import KUEUE_GROUP

FOLLOW = ("get", "list", "watch")


def _rule(
    group: str, resources: list[str], verbs: tuple[str, ...], names: list[str] | None = None
) -> PolicyRuleArgs:
    return PolicyRuleArgs(api_groups=[group], resources=resources, verbs=list(verbs), resource_names=names)


def _jobs(verbs: tuple[str, ...], subresource: str = "") -> list[PolicyRuleArgs]:
    """Returns the rules for all kinds of jobs, one for each API group."""
    return [
        _rule(group, [f"{plural}{subresource}" for plural in plurals], verbs)
        for group, plurals in RESOURCES.items()
    ]


def replaced_parts() -> set[tuple[str, str]]:
    """Returns the group and the resource of the objects that a start may delete."""
    owners = {kind.kind for kind in JOB_KINDS if kind.replaces_parts}
    return {(kind.kind.group, kind.plural) for kind in JOB_KINDS if not owners.isdisjoint(kind.created_by)}


CLUSTER_RULES = [
    # Jobs are suspended, resumed and annotated, never created, and deleted by JOB_DELETION_RULES only. The
    # right on finalizers allows a Workload's owner reference to its job where the API server checks
    # blockOwnerDeletion; likewise for pod templates and their provisioning requests.
    *_jobs((*FOLLOW, "patch")),
    *_jobs(("update",), "/finalizers"),
    # Dry runs of the pods and Services that KubeRay would create for a gang; a policy refuses other creations
    # (DRY_RUNS_ONLY in components/admission/policies.py).
    _rule("", ["pods", "services"], ("create",)),
    # The start time of a stopped Job, before its template can change.
    *(_rule(k.kind.group, [f"{k.plural}/status"], ("patch",)) for k in JOB_KINDS if k.resets_status),
    # Parts of a stopped job that would start with the placement of its last run.
    *(_rule(group, [plural], ("delete",)) for group, plural in sorted(replaced_parts())),
    # Gangs that KubeRay does not stop: their submitter Jobs are suspended, their pods deleted. The gates of
    # workers that have quota are opened.
    _rule("", ["pods"], ("delete", "patch")),
    # The controller's own objects: a Workload for each job, and the requests for its capacity.
    _rule(KUEUE_GROUP, ["workloads"], (*FOLLOW, "create", "patch", "delete")),
    _rule(KUEUE_GROUP, ["workloads/status"], ("patch", "update")),
    _rule(KUEUE_GROUP, ["workloads/finalizers"], ("update",)),
    _rule("autoscaling.x-k8s.io", ["provisioningrequests"], (*FOLLOW, "create", "delete")),
    _rule("autoscaling.x-k8s.io", ["provisioningrequests/finalizers"], ("update",)),
    _rule("", ["podtemplates"], (*FOLLOW, "create", "patch", "delete")),
    # Queues are read; usage and conditions are written to their status. A finalizer keeps objects in whose
    # quota gangs run.
    _rule(KUEUE_GROUP, ["admissionchecks", "clusterqueues", "resourceflavors"], (*FOLLOW, "patch")),
    _rule(KUEUE_GROUP, ["clusterqueues/status", "localqueues/status", "admissionchecks/status"], ("update",)),
    _rule(
        KUEUE_GROUP,
        ["cohorts", "localqueues", "provisioningrequestconfigs", "topologies", "workloadpriorityclasses"],
        FOLLOW,
    ),
    # Decide whether a gang may be in its queue, and whether a preempted one has ended.
    _rule("", ["limitranges", "namespaces", "pods"], FOLLOW),
    # The overhead of pods with a RuntimeClass.
    _rule("node.k8s.io", ["runtimeclasses"], FOLLOW),
    # Whether the claims of a gang's pods can be created, and how many devices they take.
    _rule("resource.k8s.io", ["deviceclasses", "resourceclaimtemplates"], FOLLOW),
    # Domains of flavors with a topology.
    _rule("", ["nodes"], FOLLOW),
    _rule("scheduling.k8s.io", ["priorityclasses"], FOLLOW),
    _rule("", ["events"], ("create",)),
]


# With muster:controller.retention.afterDeactivatedSeconds only.
JOB_DELETION_RULES = _jobs(("delete",))


# Kinds that the page shows (muster/live/page/watching.py).
PAGE_RULES = [
    *_jobs(FOLLOW),
    _rule(
        KUEUE_GROUP,
        [
            "admissionchecks",
            "clusterqueues",
            "cohorts",
            "localqueues",
            "provisioningrequestconfigs",
            "resourceflavors",
            "topologies",
            "workloadpriorityclasses",
            "workloads",
        ],
        FOLLOW,
    ),
    _rule("autoscaling.x-k8s.io", ["provisioningrequests"], FOLLOW),
    _rule("", ["limitranges", "namespaces"], FOLLOW),
    _rule("node.k8s.io", ["runtimeclasses"], FOLLOW),
    _rule("resource.k8s.io", ["deviceclasses", "resourceclaimtemplates"], FOLLOW),
    _rule("scheduling.k8s.io", ["priorityclasses"], FOLLOW),
    # Domains of flavors with a topology, and what runs on them.
    _rule("", ["nodes", "pods"], FOLLOW),
]


def lease_rules(name: str) -> list[PolicyRuleArgs]:
    """Returns the rules of the controller's namespace. RBAC cannot restrict `create` by name (Kubernetes)."""
    return [
        _rule("coordination.k8s.io", ["leases"], ("create",)),
        _rule("coordination.k8s.io", ["leases"], ("get", "patch"), [name]),
    ]
