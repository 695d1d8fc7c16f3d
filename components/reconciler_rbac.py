"""What Muster's controller may do: a rule a line, so that a change reads as what it gives or takes."""

from pulumi_kubernetes.rbac.v1 import PolicyRuleArgs

READ = ("get", "list", "watch")
CHANGE = ("patch", "update")
OWN = (*READ, "create", "delete", *CHANGE)

KUEUE = "kueue.x-k8s.io"


def _rule(group: str, resources: list[str], verbs: tuple[str, ...]) -> PolicyRuleArgs:
    return PolicyRuleArgs(api_groups=[group], resources=resources, verbs=list(verbs))


CLUSTER_RULES = [
    # The jobs: suspended and resumed, never made or deleted. The finalizers' right lets a Workload be
    # owned by its job where the API server checks owner references.
    _rule("ray.io", ["rayjobs", "rayclusters"], (*READ, *CHANGE)),
    _rule("ray.io", ["rayjobs/finalizers", "rayclusters/finalizers"], ("update",)),
    # A Workload a job, and the capacity it asks for: the controller's own objects.
    _rule(KUEUE, ["workloads"], OWN),
    _rule(KUEUE, ["workloads/status"], ("get", *CHANGE)),
    _rule(KUEUE, ["workloads/finalizers"], ("update",)),
    _rule("autoscaling.x-k8s.io", ["provisioningrequests"], (*READ, "create", "delete", "patch")),
    _rule("", ["podtemplates"], (*READ, "create", "delete", "patch")),
    # The queues: read, with the usage and conditions that users look for written to their status.
    _rule(KUEUE, ["clusterqueues", "localqueues", "admissionchecks"], READ),
    _rule(KUEUE, ["clusterqueues/status", "localqueues/status", "admissionchecks/status"], ("get", *CHANGE)),
    _rule(
        KUEUE,
        ["cohorts", "provisioningrequestconfigs", "resourceflavors", "workloadpriorityclasses"],
        READ,
    ),
    # What decides whether a gang fits, and whether a preempted one is gone.
    _rule("", ["limitranges", "namespaces", "nodes", "pods"], READ),
    _rule("scheduling.k8s.io", ["priorityclasses"], READ),
    _rule("", ["events"], ("create", "patch")),
    _rule("events.k8s.io", ["events"], ("create", "patch")),
]

NAMESPACE_RULES = [_rule("coordination.k8s.io", ["leases"], (*READ, "create", *CHANGE))]
