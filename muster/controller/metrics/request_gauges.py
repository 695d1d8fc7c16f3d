"""Gauges of ProvisioningRequests by queue and state, updated one Workload at a time."""

from collections.abc import Collection, Iterable, Mapping

from muster.cluster.cluster_state import ClusterState
from muster.cluster.queue_counts import queue_of
from muster.objects.autoscaling import request_state
from muster.objects.meta import millis

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
