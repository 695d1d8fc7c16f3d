"""Kueue's objects of the queues: flavors, cohorts, cluster queues, local queues, admission checks
and priority classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource

from components.base import Component
from components.queues.kueue_api import WorkloadPriorityClass, kueue_object
from settings.manifests import specs
from settings.manifests.objects import queue_objects
from settings.model.pools.pool import Pool
from settings.model.queues.admission import QueuedProvisioning
from settings.model.queues.queue import Queues as QueuesSettings
from settings.model.tenants.tenant import Tenant


@dataclass(frozen=True)
class QueuesArgs:
    """`device_quotas` are the resources that count devices of DeviceClasses. `in_gke`: GKE makes the nodes of
    the pools, so that their sizes are known."""

    pools: tuple[Pool, ...]
    queues: QueuesSettings
    queued_provisioning: QueuedProvisioning
    device_quotas: Mapping[str, str]
    in_gke: bool = False


class Queues(Component):
    """Kueue's objects; each is created after the objects that it names, and deleted before them.

    Declare the tenants' namespaces between ClusterQueues and LocalQueues: a finalizer keeps a ClusterQueue
    while gangs run in it, and on `pulumi destroy` gangs end with their namespace.
    """

    def __init__(self, name: str, args: QueuesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Queues", name, opts)
        created: dict[tuple[str, str], CustomResource] = {}
        for obj in queue_objects(
            args.pools, args.queues, args.queued_provisioning, args.device_quotas, in_gke=args.in_gke
        ):
            options = self.child(depends_on=[created[other] for other in obj.after])
            created[obj.kind, obj.name] = kueue_object(
                obj.kind, obj.name, obj.spec, options, annotations=obj.annotations
            )
        self.cluster_queues = {name: obj for (kind, name), obj in created.items() if kind == "ClusterQueue"}
        self.register_outputs({"cluster_queues": list(self.cluster_queues)})

    def add_local_queues(self, tenants: Sequence[Tenant], namespaces: Mapping[str, pulumi.Resource]) -> None:
        """Declares the tenants' LocalQueues; `namespaces` is by name."""
        for tenant in tenants:
            for local, target in tenant.queues.items():
                namespace = namespaces[tenant.namespace]
                options = self.child(
                    depends_on=[namespace, self.cluster_queues[target]], deleted_with=namespace
                )
                local_queue(tenant, local, options)


def local_queue(tenant: Tenant, name: str, opts: pulumi.ResourceOptions) -> CustomResource:
    """Declares one of a tenant's LocalQueues."""
    # The field is immutable, and the new object needs the name.
    recreated = pulumi.ResourceOptions(replace_on_changes=["spec.clusterQueue"], delete_before_replace=True)
    options = pulumi.ResourceOptions.merge(opts, recreated)
    spec = specs.local_queue(tenant.queues[name], tenant.weight)
    return kueue_object("LocalQueue", name, spec, options, tenant.namespace)


@dataclass(frozen=True)
class PrioritiesArgs:
    """`priorities`: the values of the classes, by name."""

    priorities: Mapping[str, int]


class Priorities(Component):
    """WorkloadPriorityClasses, which jobs name in the label `kueue.x-k8s.io/priority-class`.

    A new value updates a class in place and applies to workloads created later.
    """

    def __init__(self, name: str, args: PrioritiesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Priorities", name, opts)
        self.classes = {
            name: WorkloadPriorityClass(name, value, self.child()) for name, value in args.priorities.items()
        }
        self.register_outputs({"names": list(self.classes)})
