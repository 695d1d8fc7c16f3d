"""The recording of a scenario: the phases of its jobs, its milestones, and the use of GPUs over time. Pure.

`make up` and `make scenario` write it to the sandbox's logs; `make pictures` draws it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec

from sandbox.cluster.kinds import Object
from sandbox.scenarios.gangs import GPU, cluster_spec, on_nodes
from sandbox.scenarios.milestones import JobsByRole, MilestoneResult
from sandbox.scenarios.observations import ObservedObjects
from sandbox.scenarios.timeline import Phase
from sandbox.stand_ins.capacity import pod_requests, quantity


class Job(msgspec.Struct, frozen=True):
    """A job: the name and priority of its manifest, the number of its GPUs, and its phases as (seconds,
    phase)."""

    name: str
    priority: str
    gpus: int
    phases: list[tuple[float, Phase]]


class Gpus(msgspec.Struct, frozen=True):
    """The use of GPUs since `at`: by pods on nodes, and reserved in the ClusterQueue, with its nominal quota.

    `reserved` and `quota` are 0 without a ClusterQueue, as with KAI.
    """

    at: float
    on_nodes: int
    reserved: int
    quota: int


class Recording(msgspec.Struct, frozen=True):
    """A run of a scenario; `seconds` is its duration, `queue` the ClusterQueue of its jobs."""

    scenario: str
    seconds: float
    queue: str
    jobs: list[Job]
    milestones: list[MilestoneResult]
    gpus: list[Gpus]

    @property
    def complete(self) -> bool:
        """True if all milestones were observed, in order."""
        return not any(milestone.problem for milestone in self.milestones)


def to_json(recording: Recording) -> bytes:
    """Encodes the recording as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(recording), indent=1) + b"\n"


def from_json(text: bytes) -> Recording:
    """Decodes a recording. Raises: msgspec.ValidationError."""
    return msgspec.json.decode(text, type=Recording)


def recorded_job(manifest: Object, priority: str, phases: Iterable[tuple[float, Phase]]) -> Job:
    """Returns the record of a job; its name omits the suffix that each run generates."""
    return Job(
        manifest["metadata"]["generateName"].rstrip("-"),
        priority,
        gang_gpus(manifest),
        list(phases),
    )


def gang_gpus(manifest: Object) -> int:
    """Returns the number of GPUs of a gang's workers."""
    groups = cluster_spec(manifest).get("workerGroupSpecs") or []
    return sum(
        int(group.get("replicas", 1)) * int(group.get("numOfHosts", 1)) * _gpus(group["template"])
        for group in groups
    )


@dataclass
class GpuUse:
    """The use of GPUs by a scenario's jobs, with an entry for each change."""

    queue: str = ""
    changes: list[Gpus] = field(default_factory=list)

    def record(self, at: float, observed: ObservedObjects, jobs: JobsByRole) -> None:
        """Records the current use if it has changed."""
        self.queue = self.queue or _queue(observed, jobs)
        pods = [pod for ref in jobs.values() for pod in on_nodes(observed.gang(ref))]
        queue = next((q for q in observed.all("ClusterQueue") if q["metadata"]["name"] == self.queue), {})
        now = Gpus(at, sum(map(_gpus, pods)), _reserved(queue), _quota(queue))
        if not self.changes or now != msgspec.structs.replace(self.changes[-1], at=now.at):
            self.changes.append(now)


def _queue(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Returns the ClusterQueue of the first admitted job; empty before an admission, and with KAI."""
    for ref in jobs.values():
        admission = (observed.workload(ref).get("status") or {}).get("admission")
        if admission:
            return str(admission["clusterQueue"])
    return ""


def _reserved(queue: Object) -> int:
    flavors = (queue.get("status") or {}).get("flavorsReservation") or []
    return _sum(r["total"] for flavor in flavors for r in _gpu_resources(flavor["resources"]))


def _quota(queue: Object) -> int:
    groups = (queue.get("spec") or {}).get("resourceGroups") or []
    flavors = [flavor for group in groups for flavor in group["flavors"]]
    return _sum(r["nominalQuota"] for flavor in flavors for r in _gpu_resources(flavor["resources"]))


def _gpu_resources(resources: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [resource for resource in resources if resource["name"] == GPU]


def _gpus(pod: Object) -> int:
    """Returns the number of GPUs of a pod or pod template."""
    return int(pod_requests(pod["spec"]).get(GPU, Decimal(0)))


def _sum(quantities: Iterable[object]) -> int:
    return int(sum(map(quantity, quantities)))
