"""A live cluster as input of forecasts: its configuration, workloads and run times."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from muster import admission as core
from muster.cluster import budget_usage
from muster.cluster.cluster_state import ClusterState
from muster.cluster.platform_snapshot import PlatformSnapshot
from muster.configuration.configuration import Configuration
from muster.forecast.configuration import QueueConfiguration, QueueObjects, with_snapshot
from muster.forecast.placement import PlacedJob, accelerators, place
from muster.forecast.traces.trace import Trace
from muster.live.run_times import RunTimeHistory
from muster.live.workloads import LiveWorkload, live_workloads


@dataclass(frozen=True, slots=True)
class ObservedState:
    """The configuration and workloads of a cluster at one moment."""

    configuration: QueueConfiguration
    workloads: Mapping[str, LiveWorkload]  # queued or holding quota, by key, sorted by key
    history: RunTimeHistory
    now_ms: int
    unreadable: Mapping[str, str] = field(default_factory=dict)  # ignored Workloads, with the reason

    def snapshot(self) -> core.Snapshot:
        """Returns the snapshot that the controller would decide on."""
        return replace(
            self.configuration.snapshot, workloads=tuple(live.workload for live in self.workloads.values())
        )


def live_state(
    cluster: ClusterState, configuration: Configuration, now_ms: int, history: Iterable[PlacedJob] = ()
) -> ObservedState:
    """Converts the objects of a cluster. `configuration` is the controller's; `history` adds past jobs to the
    finished Workloads of the cluster."""
    converted = live_workloads(cluster, configuration.rules)
    finished = (
        placed(number, past.workload, past.priority_class, past.run_ms)
        for number, past in enumerate(converted.finished)
    )
    return ObservedState(
        configuration=queue_configuration(cluster, configuration),
        workloads=converted.current,
        history=RunTimeHistory([*finished, *history]),
        now_ms=now_ms,
        unreadable=converted.unreadable,
    )


def state_with_trace(
    cluster: ClusterState, configuration: Configuration, now_ms: int, trace: Trace
) -> ObservedState:
    """Converts the objects, with the run times of a trace added to the history."""
    past = place(trace.jobs, queue_configuration(cluster, configuration)).jobs
    return live_state(cluster, configuration, now_ms, past)


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
    )


def placed(number: int, workload: core.Workload, priority_class: str, run_ms: int | None) -> PlacedJob:
    """Returns a Workload as a job of a simulation. Its namespace is used as its user."""
    queue = workload.admission.cluster_queue if workload.admission else workload.cluster_queue
    return PlacedJob(
        name=workload.key,
        submit_ms=workload.queued_at_ms,
        queue=queue,
        priority_class=priority_class,
        user=workload.namespace,
        pods=sum(pod_set.count for pod_set in workload.pod_sets),
        accelerators=sum(pod_set.count * accelerators(pod_set.requests) for pod_set in workload.pod_sets),
        number=number,
        run_ms=run_ms,
        priority=workload.priority,
        pod_sets=workload.pod_sets,
    )
