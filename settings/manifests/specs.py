"""Specs of Kueue's objects from the settings: ResourceFlavors, Topologies, Cohorts, queues, and the admission
check of queued pools."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from muster.objects.names import (
    KUEUE_GROUP,
    PROVISIONING_CONTROLLER,
    QUEUED_PROVISIONING_CLASS,
    REQUEST_DETAIL,
    REQUEST_LABEL,
)
from settings.model.pools.pool import Pool
from settings.model.queues.admission import QueuedProvisioning
from settings.model.queues.queue import ClusterQueue, Cohort
from settings.model.queues.resource_groups import Quota, ResourceGroup

CHECK = "queued-provisioning"
"""The name of the AdmissionCheck of queued pools, and of its ProvisioningRequestConfig."""


def resource_flavor(pool: Pool) -> dict[str, Any]:
    """Returns a flavor's spec; it tolerates the pool's taints, so that admitted pods get the tolerations."""
    spec: dict[str, Any] = {"nodeLabels": pool.node_labels}
    if pool.node_taints:
        spec["nodeTaints"] = [taint._asdict() for taint in pool.node_taints]
        spec["tolerations"] = [{**taint._asdict(), "operator": "Equal"} for taint in pool.node_taints]
    if pool.topology:
        spec["topologyName"] = pool.flavor_name
    return spec


def topology(pool: Pool) -> dict[str, Any]:
    """Returns the spec of the Topology that a pool's flavor names."""
    return {"levels": [{"nodeLabel": level} for level in pool.topology]}


def cohort(settings: Cohort) -> dict[str, Any]:
    """Returns the spec of a Cohort."""
    spec: dict[str, Any] = {"parentName": settings.parent} if settings.parent else {}
    if settings.quotas:
        spec["resourceGroups"] = _resource_groups(settings.resource_groups)
    return spec | _fair_sharing(settings.weight)


def cluster_queue(queue: ClusterQueue, queued_flavors: Collection[str]) -> dict[str, Any]:
    """Returns a ClusterQueue's spec; the provisioning check applies to flavors of queued pools only."""
    spec: dict[str, Any] = {
        "namespaceSelector": {"matchLabels": queue.namespaces} if queue.namespaces else {},
        "queueingStrategy": queue.strategy,
        "preemption": queue.preemption.model_dump(by_alias=True, exclude_none=True),
        "resourceGroups": _resource_groups(queue.resource_groups),
    }
    if queue.cohort:
        spec["cohortName"] = queue.cohort
    if queue.flavor_fungibility:
        spec["flavorFungibility"] = queue.flavor_fungibility.model_dump(by_alias=True, exclude_none=True)
    # Not declared unless the settings stop the queue: an operator can hold it by hand.
    if queue.stop != "None":
        spec["stopPolicy"] = queue.stop
    if queue.admission_fair_sharing:
        spec["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    if checks := _checks(queue, queued_flavors):
        spec["admissionChecksStrategy"] = {"admissionChecks": checks}
    return spec | _fair_sharing(queue.weight)


def local_queue(cluster_queue: str, weight: str | None) -> dict[str, Any]:
    """Returns the spec of a LocalQueue."""
    return {"clusterQueue": cluster_queue, **_fair_sharing(weight)}


def provisioning_check() -> dict[str, Any]:
    """Returns the AdmissionCheck's spec."""
    parameters = {"apiGroup": KUEUE_GROUP, "kind": "ProvisioningRequestConfig", "name": CHECK}
    return {"controllerName": PROVISIONING_CONTROLLER, "parameters": parameters}


def provisioning_request_config(
    provisioning: QueuedProvisioning, accelerators: Sequence[str]
) -> dict[str, Any]:
    """Returns the ProvisioningRequestConfig's spec; `accelerators` are resources of the queued pools."""
    retry = provisioning.retry
    spec: dict[str, Any] = {
        "provisioningClassName": QUEUED_PROVISIONING_CLASS,
        # GKE rejects requests for CPUs only: pod sets without accelerators (Ray's heads) are left out.
        "managedResources": list(accelerators),
        # GKE accepts one pod set a request; this merges worker groups with equal scheduling requirements.
        "podSetMergePolicy": "IdenticalWorkloadSchedulingRequirements",
        "retryStrategy": {
            "backoffLimitCount": retry.limit,
            "backoffBaseSeconds": retry.base_seconds,
            "backoffMaxSeconds": retry.max_seconds,
        },
        "podSetUpdates": {
            "nodeSelector": [{"key": REQUEST_LABEL, "valueFromProvisioningClassDetail": REQUEST_DETAIL}]
        },
    }
    if provisioning.max_run_seconds is not None:
        spec["parameters"] = {"maxRunDurationSeconds": str(provisioning.max_run_seconds)}
    return spec


def _checks(queue: ClusterQueue, queued_flavors: Collection[str]) -> list[dict[str, Any]]:
    queued = [flavor for flavor in queue.quotas if flavor in queued_flavors]
    by_name = ({CHECK: tuple(queued)} if queued else {}) | queue.checks
    return [{"name": n, "onFlavors": list(f)} if f else {"name": n} for n, f in by_name.items()]


def _fair_sharing(weight: str | None) -> dict[str, Any]:
    return {} if weight is None else {"fairSharing": {"weight": weight}}


def _resource_groups(groups: Iterable[ResourceGroup]) -> list[dict[str, Any]]:
    return [
        {
            "coveredResources": list(group.covered),
            "flavors": [
                {"name": flavor, "resources": [_resource(name, quota) for name, quota in quotas.items()]}
                for flavor, quotas in group.flavors
            ],
        }
        for group in groups
    ]


def _resource(name: str, quota: Quota) -> dict[str, str]:
    resource = {"name": name, "nominalQuota": quota.nominal}
    if quota.borrowing_limit is not None:
        resource["borrowingLimit"] = quota.borrowing_limit
    if quota.lending_limit is not None:
        resource["lendingLimit"] = quota.lending_limit
    return resource
