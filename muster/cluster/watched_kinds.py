"""The kinds that the controller watches, with the names of their watches in metrics and probes."""

from collections.abc import Mapping

from muster.cluster.jobs.kinds import JOB_KINDS
from muster.kube import kinds
from muster.kube.kinds import AnyKind
from muster.objects.names import MANAGED_LABEL, WORKLOAD_UID_LABEL

WATCHED: Mapping[AnyKind, str] = {
    **{job_kind.kind: job_kind.watch for job_kind in JOB_KINDS},
    kinds.WORKLOADS: "workloads",
    kinds.LOCAL_QUEUES: "local_queues",
    kinds.CLUSTER_QUEUES: "cluster_queues",
    kinds.COHORTS: "cohorts",
    kinds.FLAVORS: "flavors",
    kinds.TOPOLOGIES: "topologies",
    kinds.PRIORITIES: "priorities",
    kinds.CHECKS: "checks",
    kinds.PROVISIONING_CONFIGS: "provisioning_configs",
    kinds.PROVISIONING_REQUESTS: "provisioning_requests",
    kinds.POD_TEMPLATES: "pod_templates",
    kinds.PODS: "pods",
    kinds.NAMESPACES: "namespaces",
    kinds.LIMIT_RANGES: "limit_ranges",
    kinds.RUNTIME_CLASSES: "runtime_classes",
    kinds.POD_PRIORITIES: "pod_priorities",
    kinds.RESOURCE_CLAIM_TEMPLATES: "claim_templates",
    kinds.DEVICE_CLASSES: "device_classes",
}
WATCHED_WITH_TOPOLOGIES: Mapping[AnyKind, str] = {  # only once a Topology exists: there are many
    kinds.NODES: "nodes",
    kinds.BOUND_PODS: "bound_pods",
}
# Kinds that may be missing: the autoscaler and operators of jobs install their CRDs, and claims of
# devices need Kubernetes 1.34. Any other missing kind stops all decisions.
OPTIONAL: tuple[AnyKind, ...] = (
    kinds.PROVISIONING_REQUESTS,
    kinds.TOPOLOGIES,
    kinds.RESOURCE_CLAIM_TEMPLATES,
    kinds.DEVICE_CLASSES,
    *(job_kind.kind for job_kind in JOB_KINDS if job_kind.optional),
)
ONLY_LABELLED: Mapping[AnyKind, Mapping[str, str | None]] = {
    kinds.PODS: {WORKLOAD_UID_LABEL: None},  # of gangs; None: any value of the label
    kinds.POD_TEMPLATES: {MANAGED_LABEL: "true"},
}
