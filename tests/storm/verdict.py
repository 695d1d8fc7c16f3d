"""Judges what was recorded: the simulation's invariants at every revision, and what became of each job."""

from collections.abc import Iterable
from typing import Any

from muster.kube import kinds
from muster.kube.kinds import Kind
from sandbox.cluster.kinds import Object
from tests.simulation.api import Api, Change, key_of
from tests.simulation.invariants import Broken, Invariants
from tests.simulation.kuberay import GROUP_LABEL
from tests.storm.recorder import Event

ENDED = ("Complete", "Failed")


class Replay:
    """The recorded objects as they were, revision by revision, with the invariants checked at each."""

    def __init__(self, queues: Iterable[tuple[Kind[Any], Object]]) -> None:
        self.api = Api(lambda: 0)
        for kind, body in queues:
            self.api.objects[kind][key_of(body)] = dict(body)
        self._invariants = Invariants(self.api, always=True)

    def take(self, event: Event) -> None:
        """Raises Broken where an invariant does not hold after it."""
        body = _named_head(event.body) if event.kind is kinds.PODS else event.body
        objects, key = self.api.objects[event.kind], key_of(body)
        before = objects.get(key)
        if event.type == "DELETED":
            objects.pop(key, None)
        else:
            objects[key] = body
        change = Change(event.revision, 0, event.kind, event.type, body, before, "controller")
        self.api.journal[event.kind].append(change)
        self._invariants.check(change)


def _named_head(pod: Object) -> Object:
    """With the head's group named as its pod set is."""
    labels = dict(pod["metadata"].get("labels") or {})
    if labels.get(GROUP_LABEL) == "headgroup":
        labels[GROUP_LABEL] = "head"
    return {**pod, "metadata": {**pod["metadata"], "labels": labels}}


def broken(events: Iterable[Event], queues: Iterable[tuple[Kind[Any], Object]]) -> list[str]:
    """`revision: what did not hold`, for every revision at which something did not."""
    replay, found = Replay(queues), []
    for event in events:
        try:
            replay.take(event)
        except Broken as wrong:
            found.append(f"revision {event.revision}: {wrong}")
    return found


def unended(jobs: Iterable[Object]) -> list[str]:
    """Jobs that have not come to an end, with their state."""
    states = {key_of(j): (j.get("status") or {}).get("jobDeploymentStatus", "") for j in jobs}
    return [f"{key} is {state or 'not started'}" for key, state in states.items() if state not in ENDED]


def duplicates(events: Iterable[Event]) -> list[str]:
    """Jobs with more than one RayCluster at the same time that was not being deleted."""
    live: dict[str, set[str]] = {}
    found: list[str] = []
    for event in events:
        owners = event.body["metadata"].get("ownerReferences", ())
        if event.kind is not kinds.RAY_CLUSTERS or not owners:
            continue
        key, of_job = key_of(event.body), live.setdefault(owners[0]["uid"], set())
        leaving = event.type == "DELETED" or "deletionTimestamp" in event.body["metadata"]
        (of_job.discard if leaving else of_job.add)(key)
        if len(of_job) > 1:
            found.append(f"revision {event.revision}: one RayJob has the RayClusters {sorted(of_job)}")
    return found
