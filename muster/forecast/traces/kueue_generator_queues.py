"""Converts the queues of Kueue's performance tests to manifests of its API."""

from collections.abc import Iterator, Sequence
from typing import Any

from muster.admission import quantities
from muster.forecast.traces.kueue_generator_nodes import DEVICES, NODE_LABEL_VALUE, topology_manifests
from muster.forecast.traces.kueue_generator_schema import Generator, Quantity, Queue
from muster.objects.kueue_queues import (
    ClusterQueue,
    ClusterQueueSpec,
    Cohort,
    FlavorQuotas,
    LocalQueue,
    LocalQueueSpec,
    QueuePreemption,
    ResourceFlavor,
    ResourceFlavorSpec,
    ResourceGroup,
    ResourceQuota,
    WorkloadPriorityClass,
)
from muster.objects.meta import Object, ObjectMeta, builtins
from muster.objects.names import KUEUE_GROUP

API_VERSION = f"{KUEUE_GROUP}/v1beta2"


def manifests_of(generator: Generator, queues: Sequence[Queue]) -> Iterator[dict[str, Any]]:
    """Yields the topology with its nodes, the flavor, cohorts, priority classes and queues. Raises:
    QuantityError for invalid quotas."""
    flavor = generator.resource_flavor
    labels = {flavor.node_label: NODE_LABEL_VALUE} if flavor.node_label else {}
    yield from topology_manifests(generator)
    spec = ResourceFlavorSpec(node_labels=labels, topology_name=flavor.topology_name)
    yield _manifest(ResourceFlavor(metadata=ObjectMeta(name=flavor.name), spec=spec))
    for name in dict.fromkeys(queue.cohort for queue in queues):
        yield _manifest(Cohort(metadata=ObjectMeta(name=name)))
    for value in sorted(set(_priorities(generator))):
        yield _manifest(WorkloadPriorityClass(metadata=ObjectMeta(name=priority_class(value)), value=value))
    for queue in queues:
        yield _manifest(_cluster_queue(queue, flavor.name))
        metadata = ObjectMeta(name=queue.name, namespace=queue.name)
        yield _manifest(LocalQueue(metadata=metadata, spec=LocalQueueSpec(cluster_queue=queue.name)))


def priority_class(value: int) -> str:
    """Returns the name of the class with this priority."""
    return f"priority-{value}"


def _priorities(generator: Generator) -> Iterator[int]:
    for cohorts in generator.cohorts:
        for queues in cohorts.queues_sets:
            for workloads in queues.workloads_sets:
                yield from (template.priority for template in workloads.workloads)


def _cluster_queue(queue: Queue, flavor: str) -> ClusterQueue:
    quotas = [_quota(quantities.CPU, queue.set.nominal_quota, queue.set.borrowing_limit)]
    if queue.set.device_nominal_quota != "":
        quotas.append(_quota(DEVICES, queue.set.device_nominal_quota, queue.set.device_borrowing_limit))
    return ClusterQueue(
        metadata=ObjectMeta(name=queue.name),
        spec=ClusterQueueSpec(
            cohort_name=queue.cohort,
            resource_groups=(
                ResourceGroup(
                    covered_resources=tuple(quota.name for quota in quotas),
                    flavors=(FlavorQuotas(name=flavor, resources=tuple(quotas)),),
                ),
            ),
            namespace_selector={},
            preemption=QueuePreemption(
                within_cluster_queue=queue.set.within_cluster_queue,
                reclaim_within_cohort=queue.set.reclaim_within_cohort,
            ),
        ),
    )


def _quota(resource: str, nominal: Quantity, borrowing_limit: Quantity) -> ResourceQuota:
    for value in (nominal, borrowing_limit):
        if value != "":
            quantities.parse(resource, value)
    return ResourceQuota(
        name=resource,
        nominal_quota=str(nominal),
        borrowing_limit=None if borrowing_limit == "" else str(borrowing_limit),
    )


def _manifest(view: Object) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": type(view).__name__, **builtins(view)}
