"""The registry of the endpoint /metrics: counters and histograms of passes, status changes and writes."""

from collections.abc import Callable, Iterable, Iterator

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.metrics.gauges import QueueGauges
from muster.controller.metrics.observer import CompletedPass, Observer
from muster.controller.metrics.sources import Sample, StatusChange
from muster.controller.metrics.spec import COUNTER, HISTOGRAM, OfChange, OfPass
from muster.controller.metrics.table import BY_NAME, METRICS
from muster.kube.client import WriteError
from muster.kube.kinds import WORKLOADS
from muster.kube.writes import MergePatch, Write
from muster.live.eta.start_errors import StartError
from muster.objects.kueue import Workload, WorkloadStatus

OF_CHANGES = tuple((spec.name, spec.source) for spec in METRICS if isinstance(spec.source, OfChange))
OF_PASSES = tuple((spec.name, spec.source) for spec in METRICS if isinstance(spec.source, OfPass))


class Metrics(Observer, Collector):
    """The metrics of the endpoint /metrics, in `registry`."""

    def __init__(self, leads: Callable[[], bool]) -> None:
        self.registry = CollectorRegistry()
        self._queues = QueueGauges()
        self._counters = {
            spec.name: Counter(spec.full_name, spec.help, spec.labels, registry=self.registry)
            for spec in METRICS
            if spec.kind == COUNTER
        }
        self._histograms = {
            spec.name: Histogram(
                spec.full_name, spec.help, spec.labels, buckets=spec.buckets, registry=self.registry
            )
            for spec in METRICS
            if spec.kind == HISTOGRAM
        }
        leader = BY_NAME["leader"]
        Gauge(leader.full_name, leader.help, registry=self.registry).set_function(leads)
        ProcessCollector(registry=self.registry)
        self.registry.register(self)

    def failed(self) -> None:
        self._counters["metrics_errors_total"].inc()

    def journal_failed(self) -> None:
        """Counts a failed write of the journal."""
        self._counters["journal_failures_total"].inc()

    def journal_lost(self, records: int) -> None:
        """Counts records that the journal has lost."""
        self._counters["journal_lost_records_total"].inc(records)

    def eta_failed(self) -> None:
        """Counts a failed round of estimates."""
        self._counters["eta_failures_total"].inc()

    def gang_started(self, error: StartError) -> None:
        """Counts an estimate of a gang that has started."""
        queue, priority_class, error_s = error.queue, error.priority_class, error.error_s
        self._counters["eta_starts_total"].labels(queue, priority_class, error.age, error.band).inc()
        if error.is_first and error_s is not None:
            self._histograms["eta_error_seconds"].labels(queue, priority_class).observe(error_s)

    def collect(self) -> Iterator[Metric]:
        """Yields the gauges of the queues at the end of the last pass."""
        return self._queues.collect()

    def wrote(self, write: Write, error: WriteError | None) -> None:
        result = "done"
        if error is not None:
            result = "stale" if error.stale else "unsure" if error.unsure else "refused"
        verb = type(write).__name__.removeprefix("Merge").removeprefix("Json").lower()
        self._counters["writes_total"].labels(str(write.kind), verb, result).inc()

    def passed(self, passed: CompletedPass) -> None:
        for name, source in OF_PASSES:
            self._add(name, source.samples(passed))
        for planned in passed.done:
            workload = passed.cluster.workloads.get(planned.subject)
            if workload is not None and isinstance(planned.write, MergePatch) and planned.write.status:
                self._count_status(workload, planned, passed)
        self._queues.update(passed.cluster, passed.plan.statistics)

    def _count_status(self, workload: Workload, planned: PlannedWrite, passed: CompletedPass) -> None:
        """Counts the status changes of a Workload that a write contains."""
        assert isinstance(planned.write, MergePatch)
        status = msgspec.convert(planned.write.body["status"], WorkloadStatus)
        for event in planned.events:
            if event.kind is WORKLOADS:
                change = StatusChange(event, workload, status, passed)
                for name, source in OF_CHANGES:
                    if source.reason is None or source.reason == event.reason:
                        self._add(name, source.samples(change))

    def _add(self, name: str, samples: Iterable[Sample]) -> None:
        for labels, value in samples:
            counter = self._counters.get(name)
            if counter is not None:
                (counter.labels(*labels) if labels else counter).inc(value)
            else:
                histogram = self._histograms[name]
                (histogram.labels(*labels) if labels else histogram).observe(value)
