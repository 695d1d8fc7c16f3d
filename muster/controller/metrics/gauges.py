"""Gauges of queues and of ProvisioningRequests, computed from the results of passes."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from muster.cluster.cluster_state import ClusterState
from muster.cluster.queue_counts import QueueCount, QueueCounts, queue_of
from muster.controller.metrics.sources import Labels, QueueFigures, Sample
from muster.controller.metrics.spec import MetricSpec, OfQueue, OfRequests
from muster.controller.metrics.table import BY_NAME, METRICS
from muster.controller.passes.pass_plan import PassStatistics
from muster.controller.passes.queue_status import nominal_quotas
from muster.kube.kinds import CLUSTER_QUEUES
from muster.objects.autoscaling import request_state
from muster.objects.meta import millis

OF_QUEUES = tuple((spec, spec.source) for spec in METRICS if isinstance(spec.source, OfQueue))
OF_REQUESTS = tuple((spec, spec.source) for spec in METRICS if isinstance(spec.source, OfRequests))

Values = Mapping[str, Mapping[Labels, float]]
"""Values by gauge name and labels."""


QueueAndState = tuple[str, str]
RequestKey = tuple[str, str]
"""The keys of a Workload and its request."""
CreatedMs = Mapping[QueueAndState, Mapping[RequestKey, int]]
"""The creation times of requests."""


class RequestGauges:
    """Counts the requests of existing Workloads."""

    def __init__(self) -> None:
        self._by_workload: dict[str, CreatedMs] = {}
        self._created_ms: dict[QueueAndState, dict[RequestKey, int]] = {}

    def update(self, cluster: ClusterState, workloads: Iterable[str]) -> set[QueueAndState]:
        """Updates the requests of these Workloads, given by key. Returns the queues and states that
        changed."""
        changed = set[QueueAndState]()
        for key in workloads:
            before, now = self._by_workload.pop(key, {}), _of_workload(key, cluster)
            if now:
                self._by_workload[key] = now
            if before != now:
                changed.update(before, now)
                self._replace(before, now)
        return changed

    def _replace(self, before: CreatedMs, now: CreatedMs) -> None:
        for labels, requests in before.items():
            for key in requests:
                del self._created_ms[labels][key]
        for labels, requests in now.items():
            self._created_ms.setdefault(labels, {}).update(requests)

    def created_ms(self, labels: QueueAndState) -> Collection[int]:
        """Returns the creation times of the queue's requests in this state."""
        return self._created_ms.get(labels, {}).values()


def _of_workload(key: str, cluster: ClusterState) -> CreatedMs:
    created_ms: dict[QueueAndState, dict[RequestKey, int]] = {}
    workload = cluster.workloads.get(key)
    if workload is None:
        return created_ms
    for request in cluster.requests_of(workload):
        labels = queue_of(workload, cluster), request_state(request)
        created_ms.setdefault(labels, {})[key, request.key] = millis(request.metadata.creation_timestamp)
    return created_ms


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
        """Yields the metrics of queues and requests at the last pass."""
        groups = [*self._by_queue.values(), *self._by_state.values()]
        for spec, _ in (*OF_QUEUES, *OF_REQUESTS):
            yield _family(spec, (sample for group in groups for sample in group.get(spec.name, {}).items()))


class WatchAges(Collector):
    """The age of each watch's last event, computed on every scrape."""

    def __init__(self, ages_s: Callable[[], Mapping[str, float]]) -> None:
        self._ages_s = ages_s

    def collect(self) -> Iterator[Metric]:
        """Yields the age of each watch at the time of the scrape."""
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
