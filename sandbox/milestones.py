"""The seven things that must be seen, in this order, for the scenario to have worked. Pure.

Nothing here knows which engine admits: it reads Workload conditions that Kueue's API defines, KubeRay's
status, and what the cluster itself shows (pods, nodes).
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sandbox.kinds import Object, condition, is_true
from sandbox.observations import (
    GPU,
    JobRef,
    Seen,
    World,
    gang_size,
    job_status,
    uses_gpus,
    why_waiting,
)

ONE_STEP_SECONDS = 2.0
"""Nodes created within this time count as one step; creation times are whole seconds."""


@dataclass(frozen=True)
class Milestone:
    """`at`: when first seen (None: never); `detail`: what was seen; `problem`: why it does not count."""

    title: str
    at: float | None
    detail: str
    problem: str = ""


Look = Callable[[World, JobRef, JobRef], str]
"""Says what it sees of (world, dev, prod), or an empty string while it does not see it."""


def dev_runs_on_gpus(world: World, dev: JobRef, prod: JobRef) -> str:
    """All of the dev gang runs, its GPU workers on nodes with GPUs, and Ray runs the job."""
    gang = _running_gang(world, dev)
    gpu_nodes = {n["metadata"]["name"] for n in world.all("Node") if GPU in n["status"].get("capacity", {})}
    workers = [p for p in gang if uses_gpus(p)]
    if job_status(world.job(dev))[0] != "RUNNING" or not workers:
        return ""
    if any(p["spec"].get("nodeName") not in gpu_nodes for p in workers):
        return ""
    return f"{len(workers)} workers on GPU nodes, job RUNNING"


def prod_waits(world: World, dev: JobRef, prod: JobRef) -> str:
    """The production Workload has no quota, and says why."""
    return why_waiting(world.workload(prod))


def dev_is_preempted(world: World, dev: JobRef, prod: JobRef) -> str:
    """The Workload is evicted by preemption, KubeRay has suspended the job, and no pod is left."""
    evicted = condition(world.workload(dev), "Evicted")
    if evicted.get("status") != "True" or evicted.get("reason") != "Preempted":
        return ""
    if job_status(world.job(dev))[1] != "Suspended" or world.pods(dev):
        return ""
    return "Workload Evicted (Preempted), RayJob Suspended, no pods left"


def prod_is_provisioned(world: World, dev: JobRef, prod: JobRef) -> str:
    """The request is Provisioned, and all its nodes were made at once and are ready."""
    request = world.request(prod)
    if not request or not is_true(request, "Provisioned"):
        return ""
    name = request["status"]["provisioningClassDetails"]["ResizeRequestName"]
    nodes = world.nodes(name)
    if not nodes or not all(is_true(n, "Ready") for n in nodes):
        return ""
    made = [_time(n["metadata"]["creationTimestamp"]) for n in nodes]
    if max(made) - min(made) > ONE_STEP_SECONDS:
        return ""
    return f"{len(nodes)} nodes at once for {name}"


def prod_is_admitted_whole(world: World, dev: JobRef, prod: JobRef) -> str:
    """The Workload is Admitted, all of its gang runs, and no pod of it is older than the admission."""
    admitted = condition(world.workload(prod), "Admitted")
    gang = _running_gang(world, prod)
    if admitted.get("status") != "True" or not gang:
        return ""
    if min(_time(p["metadata"]["creationTimestamp"]) for p in gang) < _time(admitted["lastTransitionTime"]):
        return ""
    return f"Workload Admitted, all {len(gang)} pods running"


def prod_succeeds(world: World, dev: JobRef, prod: JobRef) -> str:
    """Ray and KubeRay are done with the production job."""
    return _succeeded(world, prod)


def dev_succeeds(world: World, dev: JobRef, prod: JobRef) -> str:
    """Ray and KubeRay are done with the dev job; after its suspension only a second run brings that about."""
    return _succeeded(world, dev)


MILESTONES: tuple[tuple[str, Look], ...] = (
    ("dev job runs on GPUs", dev_runs_on_gpus),
    ("production job arrives and does not fit", prod_waits),
    ("dev job is preempted", dev_is_preempted),
    ("production gang is provisioned in one step", prod_is_provisioned),
    ("production gang is admitted whole", prod_is_admitted_whole),
    ("production job succeeds", prod_succeeds),
    ("dev job is resumed and succeeds", dev_succeeds),
)


class Progress:
    """Follows the changes and notes when each milestone is first seen."""

    def __init__(self, dev: JobRef, prod: JobRef) -> None:
        self.world = World()
        self._dev, self._prod = dev, prod
        self._first: dict[str, tuple[float, str]] = {}

    def see(self, seen: Seen) -> list[Milestone]:
        """Takes in one change; returns the milestones that it reached."""
        self.world.see(seen)
        reached = []
        for title, look in MILESTONES:
            if title not in self._first and (detail := look(self.world, self._dev, self._prod)):
                self._first[title] = (seen.at, detail)
                reached.append(title)
        return [m for m in self.milestones() if m.title in reached] if reached else []

    def milestones(self) -> list[Milestone]:
        """All seven in order, with what is missing or came too early."""
        found: list[Milestone] = []
        for title, _ in MILESTONES:
            at, detail = self._first.get(title, (None, ""))
            found.append(Milestone(title, at, detail, _problem(at, found)))
        return found

    @property
    def done(self) -> bool:
        """Whether all were seen, in order or not."""
        return len(self._first) == len(MILESTONES)


def check(events: Iterable[Seen], dev: JobRef, prod: JobRef) -> list[Milestone]:
    """The seven milestones as these events, in the order of their times, show them."""
    progress = Progress(dev, prod)
    for seen in events:
        progress.see(seen)
    return progress.milestones()


def _problem(at: float | None, earlier: list[Milestone]) -> str:
    if at is None:
        return "not seen"
    for milestone in earlier:
        if milestone.at is None:
            return f"seen without: {milestone.title}"
        if milestone.at > at:
            return f"seen before: {milestone.title}"
    return ""


def _running_gang(world: World, ref: JobRef) -> list[Object]:
    """The pods of the job's cluster if all of them run, else none."""
    job, gang = world.job(ref), world.gang(ref)
    whole = bool(job) and len(gang) == gang_size(job)
    return gang if whole and all((p.get("status") or {}).get("phase") == "Running" for p in gang) else []


def _succeeded(world: World, ref: JobRef) -> str:
    job = world.job(ref)
    if job_status(job) != ("SUCCEEDED", "Complete"):
        return ""
    return f"SUCCEEDED as {job['status']['jobId']}"


def _time(rfc3339: str) -> float:
    return datetime.datetime.fromisoformat(rfc3339).timestamp()
