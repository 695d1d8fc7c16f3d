"""The objects of Kueue's API that a stack declares, as plain values: for Pulumi, and for forecasts."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from muster.objects.names import BUDGETS, DEVICE_CLASSES, KUEUE_API, NODE_SIZES
from settings.manifests.specs import (
    CHECK,
    cluster_queue,
    cohort,
    local_queue,
    provisioning_check,
    provisioning_request_config,
    resource_flavor,
    topology,
)
from settings.model.pools.allocatable import allocatable
from settings.model.pools.pool import Pool
from settings.model.queues.admission import QueuedProvisioning
from settings.model.queues.budget import Budget
from settings.model.queues.queue import Queues
from settings.model.stack import Settings


@dataclass(frozen=True)
class QueueObject:
    """A cluster-scoped object. `after` are kinds and names of objects that are created before it, and deleted
    after it."""

    kind: str
    name: str
    spec: dict[str, Any]
    after: tuple[tuple[str, str], ...] = field(default=())
    annotations: dict[str, str] = field(default_factory=dict)


def queue_objects(
    pools: Sequence[Pool],
    queues: Queues,
    provisioning: QueuedProvisioning,
    device_quotas: Mapping[str, str],
    *,
    in_gke: bool,
) -> Iterator[QueueObject]:
    """Yields topologies, flavors, cohorts, checks and ClusterQueues, each after the objects that it names.
    `device_quotas` are the resources that count devices of DeviceClasses. `in_gke`: the sizes of the nodes
    are known."""
    queued = {pool.flavor_name: pool for pool in pools if pool.queued}
    topologies = [QueueObject("Topology", p.flavor_name, topology(p)) for p in pools if p.topology]
    yield from topologies
    levels = tuple((obj.kind, obj.name) for obj in topologies)
    named = [
        QueueObject(
            "ResourceFlavor",
            pool.flavor_name,
            resource_flavor(pool),
            levels,
            {NODE_SIZES: node_sizes(pool)} if in_gke else {},
        )
        for pool in pools
    ]
    named += (
        QueueObject("Cohort", c.name, cohort(c), annotations=_declared(c.budgets)) for c in queues.cohorts
    )
    named += (QueueObject("AdmissionCheck", c.name, c.spec()) for c in queues.checks)
    if queued:
        # Extended resources have a domain in their name; cpu and memory do not.
        accelerators = sorted({r for pool in queued.values() for r in pool.capacity if "/" in r})
        spec = provisioning_request_config(provisioning, accelerators)
        config = QueueObject("ProvisioningRequestConfig", CHECK, spec)
        yield config
        named.append(
            QueueObject("AdmissionCheck", CHECK, provisioning_check(), ((config.kind, config.name),))
        )
    yield from named
    after = tuple((obj.kind, obj.name) for obj in named)
    for queue in queues.cluster_queues:
        spec = cluster_queue(queue, queued)
        annotations = _declared(queue.budgets) | _device_classes(device_quotas)
        yield QueueObject("ClusterQueue", queue.name, spec, after, annotations)


def _declared(budgets: Iterable[Budget]) -> dict[str, str]:
    """Returns the annotation that declares the budgets; none without budgets."""
    declarations = [budget.declaration() for budget in budgets]
    return {BUDGETS: json.dumps(declarations, separators=(",", ":"))} if declarations else {}


def _device_classes(device_quotas: Mapping[str, str]) -> dict[str, str]:
    """Returns the annotation that maps DeviceClasses to resources; none without DeviceClasses."""
    if not device_quotas:
        return {}
    return {DEVICE_CLASSES: json.dumps(dict(sorted(device_quotas.items())), separators=(",", ":"))}


def manifests(settings: Settings) -> list[dict[str, Any]]:
    """Returns all objects of Kueue's API that a stack declares, as manifests."""
    declared = queue_objects(
        settings.pools,
        settings.queues,
        settings.admission.queued_provisioning,
        settings.admission.device_quotas,
        in_gke=settings.place is not None,
    )
    result = [_manifest(obj.kind, obj.name, {"spec": obj.spec}, obj.annotations) for obj in declared]
    result += (
        _manifest(
            "LocalQueue", name, {"spec": local_queue(target, tenant.weight)}, namespace=tenant.namespace
        )
        for tenant in settings.tenants
        for name, target in tenant.queues.items()
    )
    result += (
        _manifest("WorkloadPriorityClass", name, {"value": value})
        for name, value in settings.admission.priorities.items()
    )
    return result


def _manifest(
    kind: str,
    name: str,
    fields: dict[str, Any],
    annotations: Mapping[str, str] = MappingProxyType({}),
    namespace: str = "",
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name} | ({"namespace": namespace} if namespace else {})
    metadata |= {"annotations": dict(annotations)} if annotations else {}
    return {"apiVersion": KUEUE_API, "kind": kind, "metadata": metadata, **fields}


MIB = 1024**2


def node_sizes(pool: Pool) -> str:
    """Returns what one node leaves to the pods of gangs, as JSON: a list of resources with quantities, one
    for each kind of nodes that the pool may have.

    Without GKE's reservations and the DaemonSets that the settings declare: with an estimate of GKE's own
    DaemonSets, a pod that just fits would be refused.
    """
    return json.dumps([_size(pool, kind) for kind in pool.variants], separators=(",", ":"))


def _size(pool: Pool, kind: Pool) -> dict[str, str]:
    taken = pool.daemon_sets.requests if pool.daemon_sets else {}
    remaining = {resource: size - taken.get(resource, 0) for resource, size in allocatable(kind).items()}
    return {resource: _written(resource, size) for resource, size in remaining.items() if resource != "pods"}


def _written(resource: str, size: Fraction) -> str:
    """Writes an amount, rounded down."""
    if resource == "cpu":
        return f"{int(size * 1000)}m"
    if resource in ("memory", "ephemeral-storage"):
        return f"{int(size / MIB)}Mi"
    return str(int(size))
