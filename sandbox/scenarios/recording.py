"""A played scenario as data: the phases of its jobs, its milestones, and the use of GPUs over time. Pure.

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
    """One gang: the name and the priority of its manifest, its GPUs, and its phases as (seconds, phase)."""

    name: str
    priority: str
    gpus: int
    phases: list[tuple[float, Phase]]


class Gpus(msgspec.Struct, frozen=True):
    """GPUs from `at` on: those of pods on nodes, those reserved in the ClusterQueue, and its nominal quota.

    The last two are 0 without a ClusterQueue, as with KAI.
    """

    at: float
    on_nodes: int
    reserved: int
    quota: int


class Recording(msgspec.Struct, frozen=True):
    """One run; `seconds` is its length, `queue` the ClusterQueue of its jobs."""

    scenario: str
    seconds: float
    queue: str
    jobs: list[Job]
    milestones: list[MilestoneResult]
    gpus: list[Gpus]

    @property
    def complete(self) -> bool:
        """Whether all milestones were observed, in their order."""
        return not any(milestone.problem for milestone in self.milestones)


def to_json(recording: Recording) -> bytes:
    """Returns the recording as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(recording), indent=1) + b"\n"


def from_json(text: bytes) -> Recording:
    """Returns the recording; raises msgspec.ValidationError for anything else."""
    return msgspec.json.decode(text, type=Recording)


def recorded_job(manifest: Object, priority: str, phases: Iterable[tuple[float, Phase]]) -> Job:
    """Returns a job's part of the recording; the name is without the suffix that each run generates."""
    return Job(
        manifest["metadata"]["generateName"].rstrip("-"),
        priority,
        gang_gpus(manifest),
        list(phases),
    )


def gang_gpus(manifest: Object) -> int:
    """Returns the GPUs of a gang's workers."""
    groups = cluster_spec(manifest).get("workerGroupSpecs") or []
    return sum(
        int(group.get("replicas", 1)) * int(group.get("numOfHosts", 1)) * _gpus(group["template"])
        for group in groups
    )


@dataclass
class GpuUse:
    """The use of GPUs by a scenario's jobs, one entry a change."""

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
    """The ClusterQueue that has admitted one of the jobs; empty before, and with KAI."""
    for ref in jobs.values():
        admission = (observed.workload(ref).get("status") or {}).get("admission")
        if admission:
            return str(admission["clusterQueue"])
    return ""


def _reserved(queue: Object) -> int:
    flavors = (queue.get("status") or {}).get("flavorsReservation") or []
    return _sum(r["total"] for flavor in flavors for r in _of_gpus(flavor["resources"]))


def _quota(queue: Object) -> int:
    groups = (queue.get("spec") or {}).get("resourceGroups") or []
    flavors = [flavor for group in groups for flavor in group["flavors"]]
    return _sum(r["nominalQuota"] for flavor in flavors for r in _of_gpus(flavor["resources"]))


def _of_gpus(resources: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [resource for resource in resources if resource["name"] == GPU]


def _gpus(pod: Object) -> int:
    """Returns the GPUs of one pod or pod template."""
    return int(pod_requests(pod["spec"]).get(GPU, Decimal(0)))


def _sum(quantities: Iterable[object]) -> int:
    return int(sum(map(quantity, quantities)))
