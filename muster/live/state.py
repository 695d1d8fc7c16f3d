"""A live cluster as input of forecasts: its configuration, its workloads, and the lessons of past jobs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from muster import admission as core
from muster.cluster import budget_usage
from muster.cluster.cluster_state import ClusterState
from muster.cluster.platform_snapshot import PlatformSnapshot
from muster.configuration.configuration import Configuration
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.estimate_outcome import EstimateOutcome
from muster.forecast.learning.learned import Learned
from muster.forecast.learning.past_job import PastJob, past_jobs
from muster.forecast.observed_state import ObservedWorkload
from muster.forecast.placement import place
from muster.forecast.queue_objects import QueueObjects, with_snapshot
from muster.forecast.start_estimates import observed_job
from muster.forecast.traces.rows import moved
from muster.forecast.traces.trace import Trace
from muster.live.past_workloads import past_workloads
from muster.live.workloads import ElasticSizes, live_workloads


@dataclass(frozen=True, slots=True)
class ObservedState:
    """The configuration and workloads of a cluster at one moment."""

    configuration: QueueConfiguration
    workloads: Mapping[str, ObservedWorkload]  # queued or holding quota, by key, sorted by key
    learned: Learned
    now_ms: int
    unreadable: Mapping[str, str] = field(default_factory=dict)  # ignored Workloads, with the reason

    def snapshot(self) -> core.Snapshot:
        """Returns the snapshot that the controller would decide on."""
        return replace(
            self.configuration.snapshot,
            workloads=tuple(part for live in self.workloads.values() for part in live.parts),
        )


def live_state(
    cluster: ClusterState,
    configuration: Configuration,
    now_ms: int,
    history: Iterable[PastJob] = (),
    sizes: ElasticSizes | None = None,
    estimates: Iterable[EstimateOutcome] = (),
) -> ObservedState:
    """Converts the objects of a cluster. `configuration` is the controller's; `history` adds past jobs to the
    Workloads of the cluster, and `estimates` to the estimates of the history; `sizes` are those of
    autoscaled gangs (`live_workloads`)."""
    history = list(history)
    converted = live_workloads(cluster, configuration.rules, now_ms, sizes)
    past = past_workloads(cluster, configuration.rules, now_ms)
    recorded = {(past_job.job.name, past_job.job.submit_ms) for past_job in past}
    earlier = (h for h in history if (h.job.name, h.job.submit_ms) not in recorded)
    every = (*(estimate for h in history for estimate in h.estimates), *estimates)
    jobs = [*earlier, *past, *_waiting(converted.current.values(), now_ms)]
    return ObservedState(
        configuration=queue_configuration(cluster, configuration),
        workloads=converted.current,
        learned=Learned(jobs, dict.fromkeys(every)),  # the journal may have those in memory, too
        now_ms=now_ms,
        unreadable=converted.unreadable,
    )


def _waiting(workloads: Iterable[ObservedWorkload], now_ms: int) -> Iterator[PastJob]:
    """Yields workloads that wait for quota: later ones are submitted as often, and they have not been
    cancelled yet."""
    for live in workloads:
        if live.workload.admission is None:
            job = observed_job(0, live, None)
            yield PastJob(job, live.workload.run_time_ms, waiting_ms=max(0, now_ms - job.submit_ms))


def state_with_trace(
    cluster: ClusterState,
    configuration: Configuration,
    now_ms: int,
    trace: Trace,
    sizes: ElasticSizes | None = None,
    estimates: Iterable[EstimateOutcome] = (),
) -> ObservedState:
    """Converts the objects, and learns also from a trace. Without a date, the trace ends now."""
    jobs, origin_ms = trace.jobs, trace.begins_ms
    if origin_ms is None:
        origin_ms = now_ms - (jobs[-1].submit_ms if jobs else 0)
    dated = [moved(job, origin_ms) for job in jobs]
    placement = place(dated, queue_configuration(cluster, configuration))
    history = past_jobs(dated, placement.jobs)
    return live_state(cluster, configuration, now_ms, history, sizes, estimates)


def queue_configuration(cluster: ClusterState, configuration: Configuration) -> QueueConfiguration:
    """Returns the queues, flavors, cohorts, priority classes and checks of a cluster."""
    platform = PlatformSnapshot()
    platform.refresh(cluster)
    objects = replace(platform.snapshot, spent=budget_usage.spent(cluster))
    return with_snapshot("the cluster", objects, queue_objects(cluster), configuration.rules)


def queue_objects(cluster: ClusterState) -> QueueObjects:
    """Returns the objects that make up the queue configuration."""
    return QueueObjects(
        cluster_queues=list(cluster.cluster_queues.values()),
        cohorts=list(cluster.cohorts.values()),
        flavors=list(cluster.flavors.values()),
        local_queues=list(cluster.local_queues.values()),
        priorities=list(cluster.priorities.values()),
        checks=list(cluster.checks.values()),
        provisioning_configs=list(cluster.provisioning_configs.values()),
        topologies=list(cluster.topologies.values()),
        nodes=list(cluster.nodes.values()),
    )
