"""Observed preemptions, and ProvisioningRequests that wait for capacity."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from muster.cluster.cluster_state import ClusterState
from muster.objects.autoscaling import REQUEST_STATES, ProvisioningRequest, request_state
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition, is_true, millis
from muster.objects.workload_status import EVICTED, PREEMPTED

PREEMPTIONS_MAX = 200
OVER = ("Provisioned", "BookingExpired", "CapacityRevoked", "Failed")


@dataclass(slots=True)
class Preemptions:
    """The newest preemptions. Conditions describe only the last preemption of a Workload, and are deleted
    with it."""

    _rows: dict[str, dict[str, object]] = field(default_factory=dict)
    _workloads: dict[str, Workload] = field(default_factory=dict)

    def update(self, cluster: ClusterState) -> Mapping[str, dict[str, object]]:
        """Adds the preemptions of workloads that have changed; returns the newest PREEMPTIONS_MAX rows by
        id."""
        for key, workload in cluster.workloads.items():
            if self._workloads.get(key) is not workload:
                self._rows.update(_preemption(workload, cluster))
        self._workloads = dict(cluster.workloads)
        newest = sorted(self._rows, key=lambda key: str(self._rows[key]["at"]))[-PREEMPTIONS_MAX:]
        self._rows = {key: self._rows[key] for key in newest}
        return dict(self._rows)


def _preemption(workload: Workload, cluster: ClusterState) -> Iterator[tuple[str, dict[str, object]]]:
    """Yields the preemption in the Workload's conditions, with its id."""
    conditions = workload.status.conditions
    preempted, evicted = find_condition(conditions, PREEMPTED), find_condition(conditions, EVICTED)
    if preempted is None or preempted.status != "True":
        return
    at = preempted.last_transition_time or (evicted.last_transition_time if evicted else None) or ""
    yield (
        f"{workload.metadata.uid}/{at}",
        {
            "at": at,
            "workload": workload.key,
            "queue": cluster.cluster_queue_of(workload) or "",
            "reason": preempted.reason,
            "message": preempted.message,
        },
    )


def provisioning(cluster: ClusterState) -> Mapping[str, dict[str, object]]:
    """Returns the requests without a result, by key."""
    waiting = {key: r for key, r in cluster.provisioning_requests.items() if not _is_over(r)}
    return {key: _request(request, cluster) for key, request in waiting.items()}


def _is_over(request: ProvisioningRequest) -> bool:
    return any(is_true(request.status.conditions, state) for state in OVER)


def _request(request: ProvisioningRequest, cluster: ClusterState) -> dict[str, object]:
    owner = cluster.requester_of(request)
    states = [c for c in request.status.conditions if c.type in REQUEST_STATES]
    return {
        "name": request.metadata.name,
        "namespace": request.metadata.namespace,
        "class": request.spec.provisioning_class_name,
        "workload": owner.key if owner is not None else "",
        "queue": (cluster.cluster_queue_of(owner) or "") if owner is not None else "",
        "pods": sum(pod_set.count for pod_set in request.spec.pod_sets),
        "state": request_state(request),
        "sinceMs": millis(request.metadata.creation_timestamp),
        "message": states[-1].message if states else "",
    }
