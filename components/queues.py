"""Queues as Kueue's objects: flavors, cohorts, cluster queues, local queues, and the queued pools' check."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource

from components.base import Component
from components.kueue_api import GROUP, kueue_object
from stacks.admission import QueuedProvisioning
from stacks.pools import GPU_RESOURCE, Pool
from stacks.queues import ClusterQueue, Cohort, Quota
from stacks.queues import Queues as QueuesSettings
from stacks.tenants import Tenant

CHECK = "queued-provisioning"
CHECK_CONTROLLER = "kueue.x-k8s.io/provisioning-request"
PROVISIONING_CLASS = "queued-provisioning.gke.io"
# GKE names the nodes of a request by this label, and their value in the request's status by this detail.
REQUEST_LABEL, REQUEST_DETAIL = "autoscaling.gke.io/provisioning-request", "ResizeRequestName"


@dataclass(frozen=True)
class QueuesArgs:
    """`namespaces` are the tenants', by name; local queues wait for them."""

    pools: tuple[Pool, ...]
    queues: QueuesSettings
    tenants: tuple[Tenant, ...]
    namespaces: Mapping[str, pulumi.Resource]
    queued_provisioning: QueuedProvisioning


class Queues(Component):
    """Declared so that an object comes after those it names, and is deleted before them."""

    def __init__(self, name: str, args: QueuesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Queues", name, opts)
        queued = [pool.flavor_name for pool in args.pools if pool.queued]
        flavors = [self._object("ResourceFlavor", p.flavor_name, resource_flavor(p), []) for p in args.pools]
        cohorts = [self._object("Cohort", c.name, cohort(c), []) for c in args.queues.cohorts]
        checks = [self._check(args.queued_provisioning)] if queued else []
        self.cluster_queues = {
            queue.name: self._object(
                "ClusterQueue", queue.name, cluster_queue(queue, queued), [*flavors, *cohorts, *checks]
            )
            for queue in args.queues.cluster_queues
        }
        self.local_queues = [
            self._local_queue(tenant.namespace, local, target, args.namespaces[tenant.namespace])
            for tenant in args.tenants
            for local, target in tenant.queues.items()
        ]
        self.register_outputs({"cluster_queues": list(self.cluster_queues)})

    def _object(
        self, kind: str, name: str, spec: dict[str, Any], after: list[CustomResource]
    ) -> CustomResource:
        return kueue_object(kind, name, spec, self.child(depends_on=after))

    def _check(self, provisioning: QueuedProvisioning) -> CustomResource:
        config = self._object(
            "ProvisioningRequestConfig", CHECK, provisioning_request_config(provisioning), []
        )
        parameters = {"apiGroup": GROUP, "kind": "ProvisioningRequestConfig", "name": CHECK}
        return self._object(
            "AdmissionCheck", CHECK, {"controllerName": CHECK_CONTROLLER, "parameters": parameters}, [config]
        )

    def _local_queue(
        self, namespace: str, name: str, target: str, namespace_object: pulumi.Resource
    ) -> CustomResource:
        options = self.child(
            depends_on=[namespace_object, self.cluster_queues[target]],
            # Kueue's API refuses to change it, and the name has to be free for the new object.
            replace_on_changes=["spec.clusterQueue"],
            delete_before_replace=True,
        )
        return kueue_object("LocalQueue", name, {"clusterQueue": target}, options, namespace)


def resource_flavor(pool: Pool) -> dict[str, Any]:
    """The tolerations are those of the pool's taints, so that admitted pods get them by themselves."""
    spec: dict[str, Any] = {"nodeLabels": pool.node_labels}
    if pool.node_taints:
        spec["nodeTaints"] = [taint._asdict() for taint in pool.node_taints]
        spec["tolerations"] = [{**taint._asdict(), "operator": "Equal"} for taint in pool.node_taints]
    return spec


def cohort(settings: Cohort) -> dict[str, Any]:
    return {"parentName": settings.parent} if settings.parent else {}


def cluster_queue(queue: ClusterQueue, queued_flavors: list[str]) -> dict[str, Any]:
    """A ClusterQueue's spec; the check holds for those of its flavors whose pool is queued, and no others."""
    checked = [flavor for flavor in queue.quotas if flavor in queued_flavors]
    spec: dict[str, Any] = {
        "namespaceSelector": {},
        "queueingStrategy": queue.strategy,
        "preemption": queue.preemption.model_dump(by_alias=True),
        "resourceGroups": [
            {
                "coveredResources": list(group.covered),
                "flavors": [
                    {"name": flavor, "resources": [_resource(name, quota) for name, quota in quotas.items()]}
                    for flavor, quotas in group.flavors
                ],
            }
            for group in queue.resource_groups
        ],
    }
    if queue.cohort:
        spec["cohortName"] = queue.cohort
    if checked:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": CHECK, "onFlavors": checked}]}
    return spec


def _resource(name: str, quota: Quota) -> dict[str, str]:
    resource = {"name": name, "nominalQuota": quota.nominal}
    if quota.borrowing_limit is not None:
        resource["borrowingLimit"] = quota.borrowing_limit
    if quota.lending_limit is not None:
        resource["lendingLimit"] = quota.lending_limit
    return resource


def provisioning_request_config(provisioning: QueuedProvisioning) -> dict[str, Any]:
    """How Kueue's check asks GKE for a gang's nodes, and where its pods go then."""
    retry = provisioning.retry
    spec: dict[str, Any] = {
        "provisioningClassName": PROVISIONING_CLASS,
        # GKE rejects requests for CPUs only: pod sets without GPUs, Ray's heads, are left out.
        "managedResources": [GPU_RESOURCE],
        # GKE takes one pod set a request; this joins worker groups that are scheduled alike.
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
