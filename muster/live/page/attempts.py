"""Attempts of gangs for the timeline: from the reservation of quota to its release.

Conditions describe the last attempt only, and disappear with the Workload, so observed attempts are stored
for KEPT_MS.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from muster import admission as core
from muster.admission import quantities
from muster.cluster.cluster_state import ClusterState
from muster.live.workloads import since_ms
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition, millis
from muster.objects.workload_status import (
    ADMITTED,
    EVICTED,
    FINISHED,
    PODS_READY,
    QUOTA_RESERVED,
    holds_quota,
)

KEPT_MS = 6 * 3_600_000
ATTEMPTS_MAX = 5_000
RUNNING, FINISHED_END, FAILED, PREEMPTED, NOT_PROVISIONED, STOPPED = (
    "running",
    "finished",
    "failed",
    "preempted",
    "not provisioned",
    "stopped",
)
ENDS_OF_EVICTIONS = {"Preempted": PREEMPTED, "AdmissionCheck": NOT_PROVISIONED}
SUCCEEDED = "Succeeded"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A reservation of quota. `started_ms` is None until the gang runs, `ended_ms` until the reservation
    ends."""

    key: str
    name: str
    queue: str
    priority_class: str
    pods: int
    accelerators: int
    created_ms: int
    reserved_ms: int
    started_ms: int | None = None
    ended_ms: int | None = None
    end: str = RUNNING

    def row(self) -> dict[str, object]:
        """Returns the attempt as a row of the timeline."""
        return {
            "workload": self.key,
            "name": self.name,
            "queue": self.queue,
            "class": self.priority_class,
            "pods": self.pods,
            "accelerators": self.accelerators,
            "createdMs": self.created_ms,
            "reservedMs": self.reserved_ms,
            "startedMs": self.started_ms,
            "endedMs": self.ended_ms,
            "end": self.end,
        }


@dataclass(slots=True)
class RecentAttempts:
    """The attempts of the last KEPT_MS, limited to `most`, by Workload UID and time of reservation."""

    most: int = ATTEMPTS_MAX
    _attempts: dict[str, Attempt] = field(default_factory=dict)
    _lasting: dict[str, str] = field(default_factory=dict)  # ids of attempts that have not ended, by UID
    _workloads: dict[str, Workload] = field(default_factory=dict)  # by key, at the last update

    def update(self, cluster: ClusterState, now_ms: int) -> Mapping[str, dict[str, object]]:
        """Returns the rows to draw: attempts that have not ended, and the newest of the ended ones."""
        for key in self._workloads.keys() - cluster.workloads.keys():
            self._close(self._workloads[key].metadata.uid, now_ms, _end(self._workloads[key]))
        for key, workload in cluster.workloads.items():
            if self._workloads.get(key) is not workload:
                self._take(workload, now_ms)
        self._workloads = dict(cluster.workloads)
        from_ms = now_ms - KEPT_MS
        recent = {k: a for k, a in self._attempts.items() if a.ended_ms is None or a.ended_ms >= from_ms}
        newest = sorted(recent, key=lambda key: recent[key].ended_ms or now_ms + 1)[-self.most :]
        self._attempts = {key: recent[key] for key in newest}
        return {key: attempt.row() for key, attempt in self._attempts.items()}

    def _take(self, workload: Workload, now_ms: int) -> None:
        uid, attempt = workload.metadata.uid, _attempt(workload)
        if attempt is None:
            evicted = find_condition(workload.status.conditions, EVICTED)
            ended_ms = millis(evicted.last_transition_time) if evicted is not None else 0
            self._close(uid, ended_ms or now_ms, _end(workload))
            return
        number = f"{uid}/{attempt.reserved_ms}"
        if self._lasting.get(uid, number) != number:
            self._close(uid, attempt.reserved_ms, STOPPED)
        self._attempts[number] = attempt
        if attempt.ended_ms is None:
            self._lasting[uid] = number
        else:
            self._lasting.pop(uid, None)

    def _close(self, uid: str, ended_ms: int, end: str) -> None:
        """Ends the open attempt of the Workload, if there is one."""
        number = self._lasting.pop(uid, None)
        if number is not None and number in self._attempts:
            self._attempts[number] = replace(self._attempts[number], ended_ms=ended_ms, end=end)


def _attempt(workload: Workload) -> Attempt | None:
    """Returns the attempt that the Workload's status describes."""
    status, spec = workload.status, workload.spec
    if not holds_quota(status) or status.admission is None:
        return None
    reserved_ms = since_ms(workload.status, QUOTA_RESERVED) or 0
    ended_ms = since_ms(workload.status, FINISHED)
    owner, ref = workload.metadata.controller, spec.priority_class_ref
    return Attempt(
        key=workload.key,
        name=f"{workload.metadata.namespace}/{owner.name if owner else workload.metadata.name}",
        queue=status.admission.cluster_queue,
        priority_class=ref.name if ref is not None else "",
        pods=sum(assigned.count or 0 for assigned in status.admission.pod_set_assignments),
        accelerators=_accelerators(workload),
        created_ms=millis(workload.metadata.creation_timestamp),
        reserved_ms=reserved_ms,
        started_ms=since_ms(workload.status, PODS_READY) or since_ms(workload.status, ADMITTED),
        ended_ms=ended_ms,
        end=RUNNING if ended_ms is None else _end(workload),
    )


def _accelerators(workload: Workload) -> int:
    """Returns the extended resources, such as nvidia.com/gpu, that the Workload holds."""
    admission = workload.status.admission
    held = admission.pod_set_assignments if admission is not None else ()
    total = 0
    for resource, amount in (item for assigned in held for item in assigned.resource_usage.items()):
        try:
            total += quantities.parse(resource, amount) if "/" in resource else 0
        except core.QuantityError:
            continue  # neither Muster nor Kueue wrote this amount
    return total


def _end(workload: Workload) -> str:
    conditions = workload.status.conditions
    finished, evicted = find_condition(conditions, FINISHED), find_condition(conditions, EVICTED)
    if finished is not None and finished.status == "True":
        return FAILED if finished.reason.startswith("Fail") else FINISHED_END
    if evicted is not None and evicted.status == "True":
        return ENDS_OF_EVICTIONS.get(evicted.reason, STOPPED)
    return STOPPED
