"""Kueue's objects of the queues: flavors, cohorts, cluster queues, local queues and admission checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource

from components.base import Component
from components.queues.kueue_api import kueue_object
from components.queues.provisioning_check import CHECK, check, provisioning_request_config
from components.queues.specs import cluster_queue, cohort, resource_flavor
from settings.model.pools.pool import Pool
from settings.model.queues.admission import QueuedProvisioning
from settings.model.queues.queue import Queues as QueuesSettings
from settings.model.tenants.tenant import Tenant


@dataclass(frozen=True)
class QueuesArgs:
    pools: tuple[Pool, ...]
    queues: QueuesSettings
    queued_provisioning: QueuedProvisioning


class Queues(Component):
    """Kueue's objects; each is created after the objects that it names, and deleted before them.

    Declare the tenants' namespaces between ClusterQueues and LocalQueues: a finalizer keeps a ClusterQueue
    while gangs run in it, and on `pulumi destroy` gangs end with their namespace.
    """

    def __init__(self, name: str, args: QueuesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Queues", name, opts)
        queued = {pool.flavor_name: pool for pool in args.pools if pool.queued}
        flavors = {pool.flavor_name: resource_flavor(pool) for pool in args.pools}
        named = [self._object("ResourceFlavor", name, spec, []) for name, spec in flavors.items()]
        named += [self._object("Cohort", c.name, cohort(c), []) for c in args.queues.cohorts]
        named += [self._object("AdmissionCheck", c.name, c.spec(), []) for c in args.queues.checks]
        if queued:
            named.append(self._provisioning_check(args.queued_provisioning, tuple(queued.values())))
        self.cluster_queues = {
            queue.name: self._object("ClusterQueue", queue.name, cluster_queue(queue, queued), named)
            for queue in args.queues.cluster_queues
        }
        self.register_outputs({"cluster_queues": list(self.cluster_queues)})

    def add_local_queues(self, tenants: Sequence[Tenant], namespaces: Mapping[str, pulumi.Resource]) -> None:
        """Declares the tenants' LocalQueues; `namespaces` is by name."""
        for tenant in tenants:
            for local, target in tenant.queues.items():
                self._local_queue(tenant.namespace, local, target, namespaces[tenant.namespace])

    def _object(
        self, kind: str, name: str, spec: dict[str, Any], after: list[CustomResource]
    ) -> CustomResource:
        return kueue_object(kind, name, spec, self.child(depends_on=after))

    def _provisioning_check(
        self, provisioning: QueuedProvisioning, pools: tuple[Pool, ...]
    ) -> CustomResource:
        # Extended resources have a domain in their name; cpu and memory do not.
        accelerators = sorted({resource for pool in pools for resource in pool.capacity if "/" in resource})
        spec = provisioning_request_config(provisioning, accelerators)
        config = self._object("ProvisioningRequestConfig", CHECK, spec, [])
        return self._object("AdmissionCheck", CHECK, check(), [config])

    def _local_queue(self, namespace: str, name: str, target: str, namespace_object: pulumi.Resource) -> None:
        options = self.child(
            depends_on=[namespace_object, self.cluster_queues[target]],
            # The field is immutable, and the new object needs the name.
            replace_on_changes=["spec.clusterQueue"],
            delete_before_replace=True,
        )
        kueue_object("LocalQueue", name, {"clusterQueue": target}, options, namespace)
