"""A live cluster as forecasts see it: its configuration, its workloads, and the run times that it knows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from muster import admission as core
from muster.configuration.configuration import Configuration
from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.passes.decider import PlatformSnapshot
from muster.forecast.configuration import QueueConfiguration, QueueObjects, with_snapshot
from muster.forecast.placement import PlacedJob, accelerators, place
from muster.forecast.traces.trace import Trace
from muster.live.observed import QUEUE_KINDS
from muster.live.run_times import RunTimeHistory
from muster.live.workloads import LiveWorkload, live_workloads


@dataclass(frozen=True, slots=True)
class LiveState:
    """`workloads` are those that hold quota or may get it, by key, in the order of their keys."""

    configuration: QueueConfiguration
    workloads: Mapping[str, LiveWorkload]
    history: RunTimeHistory
    now_ms: int
    unreadable: Mapping[str, str] = field(default_factory=dict)

    def snapshot(self) -> core.Snapshot:
        """Returns the snapshot that the controller would decide on."""
        return replace(
            self.configuration.snapshot, workloads=tuple(one.workload for one in self.workloads.values())
        )


def live_state(
    cluster: ClusterState, configuration: Configuration, now_ms: int, history: Iterable[PlacedJob] = ()
) -> LiveState:
    """Converts the objects. `configuration` is the controller's; `history` are jobs that are over, beside the
    finished Workloads of the cluster."""
    found = live_workloads(cluster, configuration.rules)
    own = (
        placed(number, one.workload, one.priority_class, one.run_ms)
        for number, one in enumerate(found.finished)
    )
    return LiveState(
        configuration=queue_configuration(cluster, configuration),
        workloads=found.current,
        history=RunTimeHistory([*own, *history]),
        now_ms=now_ms,
        unreadable=found.unreadable,
    )


def state_with_trace(
    cluster: ClusterState, configuration: Configuration, now_ms: int, trace: Trace
) -> LiveState:
    """Converts the objects; run times are those of the trace, too."""
    past = place(trace.jobs, queue_configuration(cluster, configuration)).jobs
    return live_state(cluster, configuration, now_ms, past)


def queue_configuration(cluster: ClusterState, configuration: Configuration) -> QueueConfiguration:
    """Returns the queues, flavors, cohorts, priority classes and checks of a cluster."""
    platform = PlatformSnapshot()
    platform.refresh(cluster)
    return with_snapshot("the cluster", platform.snapshot, queue_objects(cluster), configuration.rules)


def queue_objects(cluster: ClusterState) -> QueueObjects:
    return QueueObjects(**{name: list(getattr(cluster, name).values()) for name in QUEUE_KINDS})


def placed(number: int, workload: core.Workload, priority_class: str, run_ms: int | None) -> PlacedJob:
    """Returns a Workload as a job of a simulation; its namespace counts as its user."""
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
