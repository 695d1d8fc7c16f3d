"""Gauges of queues and of ProvisioningRequests, computed from the results of passes."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from muster.cluster.cluster_state import ClusterState
from muster.cluster.queue_counts import QueueCount, QueueCounts, Resource
from muster.controller.metrics.request_gauges import QueueAndState, RequestGauges
from muster.controller.metrics.spec import Labels, MetricSpec, OfQueue, OfRequests, Sample
from muster.controller.metrics.table import BY_NAME, METRICS
from muster.controller.passes.pass_plan import PassStatistics
from muster.controller.passes.queue_status import nominal_quotas
from muster.kube.kinds import CLUSTER_QUEUES

OF_QUEUES = tuple((spec, spec.source) for spec in METRICS if isinstance(spec.source, OfQueue))
OF_REQUESTS = tuple((spec, spec.source) for spec in METRICS if isinstance(spec.source, OfRequests))

Values = Mapping[str, Mapping[Labels, float]]
"""Values by gauge name and labels."""


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """The figures of a ClusterQueue, from the counts of its Workloads, as its status may be outdated."""

    name: str
    # Whether the ClusterQueue exists: Workloads may still hold quota of a deleted one.
    exists: bool
    cohort: str
    count: QueueCount
    nominal: Mapping[Resource, int]

    def by_resource(self, amounts: Iterable[tuple[Resource, int]]) -> Iterator[Sample]:
        """Yields the amounts by cohort, queue, flavor and resource; 0 for resources without one. Nothing for
        a queue that no longer exists."""
        if self.exists:
            for (flavor, resource), amount in (dict.fromkeys(self.nominal, 0) | dict(amounts)).items():
                yield (self.cohort, self.name, flavor, resource), in_api_unit(resource, amount)


class QueueGauges(Collector):
    """The gauges of queues and of ProvisioningRequests. The values of a queue or of a state of requests are
    replaced together, as a scrape may happen at any time."""

    def __init__(self) -> None:
        self._by_queue: dict[str, Values] = {}
        self._requests = RequestGauges()
        self._by_state: dict[QueueAndState, Values] = {}

    def update(self, cluster: ClusterState, statistics: PassStatistics) -> None:
        """Updates the gauges of queues and requests that changed by the beginning of the pass."""
        counts, changed = statistics.counts, statistics.changed_queues
        if changed is None:
            queues = cluster.cluster_queues.keys() | counts.by_cluster_queue.keys()
            self._by_queue = {queue: _of_queue(queue, cluster, counts) for queue in queues}
        else:
            queues = {key for kind, key in changed if kind is CLUSTER_QUEUES}
            self._by_queue.update({queue: _of_queue(queue, cluster, counts) for queue in queues})
        for labels in self._requests.update(cluster, statistics.examined):
            created_ms = self._requests.created_ms(labels)
            self._by_state[labels] = {
                spec.name: {labels: source.value(created_ms)} for spec, source in OF_REQUESTS if created_ms
            }

    def collect(self) -> Iterator[Metric]:
        groups = [*self._by_queue.values(), *self._by_state.values()]
        for spec, _ in (*OF_QUEUES, *OF_REQUESTS):
            yield _family(spec, (sample for group in groups for sample in group.get(spec.name, {}).items()))


class WatchAges(Collector):
    """The age of each watch's last event, computed on every scrape."""

    def __init__(self, ages_s: Callable[[], Mapping[str, float]]) -> None:
        self._ages_s = ages_s

    def collect(self) -> Iterator[Metric]:
        ages = (((watch,), age_s) for watch, age_s in self._ages_s().items())
        yield _family(BY_NAME["watch_age_seconds"], ages)


def _family(spec: MetricSpec, samples: Iterable[Sample]) -> Metric:
    family = GaugeMetricFamily(spec.full_name, spec.help, labels=spec.labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family


def _of_queue(key: str, cluster: ClusterState, counts: QueueCounts) -> Values:
    queue, count = cluster.cluster_queues.get(key), counts.by_cluster_queue.get(key)
    figures = QueueFigures(
        name=key,
        exists=queue is not None,
        cohort=queue.spec.cohort_name if queue is not None else "",
        count=count or QueueCount(),
        nominal=nominal_quotas(queue, cluster) if queue is not None else {},
    )
    return {spec.name: dict(source.samples(figures)) for spec, source in OF_QUEUES}


def in_api_unit(resource: str, amount: int) -> float:
    """Converts an amount to Kubernetes' unit of the resource, as the core counts cpu in thousandths."""
    return amount / 1000 if resource == "cpu" else amount
