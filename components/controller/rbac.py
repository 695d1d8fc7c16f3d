"""What Muster's controller may do: a rule a line, so that a change reads as what it gives or takes.

Nothing here is for later: a right comes with what needs it.
"""

from pulumi_kubernetes.rbac.v1 import PolicyRuleArgs

FOLLOW = ("get", "list", "watch")

KUEUE = "kueue.x-k8s.io"


def _rule(
    group: str, resources: list[str], verbs: tuple[str, ...], names: list[str] | None = None
) -> PolicyRuleArgs:
    return PolicyRuleArgs(api_groups=[group], resources=resources, verbs=list(verbs), resource_names=names)


CLUSTER_RULES = [
    # The jobs: suspended and resumed, never made or deleted. The finalizers' right lets a Workload be
    # owned by its job where the API server checks owner references, and pod templates by their requests.
    _rule("ray.io", ["rayjobs", "rayclusters", "rayservices"], (*FOLLOW, "patch")),
    _rule("ray.io", ["rayjobs/finalizers", "rayclusters/finalizers", "rayservices/finalizers"], ("update",)),
    # What KubeRay would make of a gang is asked about by dry runs; a policy refuses all else
    # (components/admission/dry_runs.py).
    _rule("", ["pods", "services"], ("create",)),
    # Gangs that KubeRay does not stop: the Jobs that submit them are suspended, their pods deleted.
    _rule("batch", ["jobs"], ("patch",)),
    _rule("", ["pods"], ("delete",)),
    # A Workload a job, and the capacity it asks for: the controller's own objects.
    _rule(KUEUE, ["workloads"], (*FOLLOW, "create", "patch", "delete")),
    _rule(KUEUE, ["workloads/status"], ("patch",)),
    _rule(KUEUE, ["workloads/finalizers"], ("update",)),
    _rule("autoscaling.x-k8s.io", ["provisioningrequests"], (*FOLLOW, "create", "delete")),
    _rule("autoscaling.x-k8s.io", ["provisioningrequests/finalizers"], ("update",)),
    _rule("", ["podtemplates"], (*FOLLOW, "create", "patch", "delete")),
    # The queues: read, with the usage and conditions that users look for written to their status. What
    # gangs hold quota of is kept by a finalizer until they have ended.
    _rule(KUEUE, ["admissionchecks", "clusterqueues", "resourceflavors"], (*FOLLOW, "patch")),
    _rule(KUEUE, ["clusterqueues/status", "localqueues/status", "admissionchecks/status"], ("patch",)),
    _rule(
        KUEUE,
        ["cohorts", "localqueues", "provisioningrequestconfigs", "topologies", "workloadpriorityclasses"],
        FOLLOW,
    ),
    # What decides whether a gang may be in its queue, and whether a preempted one is gone.
    _rule("", ["limitranges", "namespaces", "pods"], FOLLOW),
    # What pods of a RuntimeClass cost beside their containers.
    _rule("node.k8s.io", ["runtimeclasses"], FOLLOW),
    # Where pods can be placed, for flavors with a topology.
    _rule("", ["nodes"], FOLLOW),
    _rule("scheduling.k8s.io", ["priorityclasses"], FOLLOW),
    _rule("", ["events"], ("create",)),
]


def lease_rules(name: str) -> list[PolicyRuleArgs]:
    """In its own namespace. What is yet to be created has no name to be allowed by (Kubernetes, RBAC)."""
    return [
        _rule("coordination.k8s.io", ["leases"], ("create",)),
        _rule("coordination.k8s.io", ["leases"], ("get", "patch"), [name]),
    ]
