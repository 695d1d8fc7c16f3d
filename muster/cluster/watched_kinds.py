"""The kinds that the controller watches, by the field of ClusterState that holds their objects."""

from typing import Any

from muster.kube import kinds
from muster.objects.names import MANAGED_LABEL, WORKLOAD_UID_LABEL

WATCHED: dict[str, kinds.Kind[Any]] = {
    "ray_jobs": kinds.RAY_JOBS,
    "ray_clusters": kinds.RAY_CLUSTERS,
    "ray_services": kinds.RAY_SERVICES,
    "workloads": kinds.WORKLOADS,
    "local_queues": kinds.LOCAL_QUEUES,
    "cluster_queues": kinds.CLUSTER_QUEUES,
    "cohorts": kinds.COHORTS,
    "flavors": kinds.FLAVORS,
    "topologies": kinds.TOPOLOGIES,
    "priorities": kinds.PRIORITIES,
    "checks": kinds.CHECKS,
    "provisioning_configs": kinds.PROVISIONING_CONFIGS,
    "provisioning_requests": kinds.PROVISIONING_REQUESTS,
    "pod_templates": kinds.POD_TEMPLATES,
    "pods": kinds.PODS,
    "namespaces": kinds.NAMESPACES,
    "limit_ranges": kinds.LIMIT_RANGES,
    "runtime_classes": kinds.RUNTIME_CLASSES,
    "pod_priorities": kinds.POD_PRIORITIES,
    "claim_templates": kinds.RESOURCE_CLAIM_TEMPLATES,
}
WATCHED_WITH_TOPOLOGIES: dict[str, kinds.Kind[Any]] = {  # only once a Topology exists: there are many
    "nodes": kinds.NODES,
    "bound_pods": kinds.BOUND_PODS,
}
# Kinds that may be missing: the autoscaler installs a CRD of its own, and claims need Kubernetes 1.34. Any
# other missing kind stops all decisions.
OPTIONAL = (kinds.PROVISIONING_REQUESTS, kinds.TOPOLOGIES, kinds.RESOURCE_CLAIM_TEMPLATES)
ONLY_LABELLED: dict[str, dict[str, str | None]] = {
    "pods": {WORKLOAD_UID_LABEL: None},  # of gangs; None: any value of the label
    "pod_templates": {MANAGED_LABEL: "true"},
}
