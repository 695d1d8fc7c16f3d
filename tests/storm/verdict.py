"""Checks a record: the simulation's invariants at every revision, and the end of each job."""

from collections.abc import Iterable
from typing import Any

from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.objects.meta import millis
from muster.objects.names import WORKLOAD_UID_LABEL
from sandbox.cluster.kinds import Object
from tests.simulation.api import Api, Change, key_of
from tests.simulation.invariants import Broken, Invariants
from tests.simulation.kuberay_pods import GROUP_LABEL
from tests.storm.recorder import Event

ENDED = ("Complete", "Failed")
EXPECTATIONS_S = 30
"""After so long KubeRay v1.6.2 takes a pod that it made, and that its cache has not shown it, for gone, and
makes another one (controllers/ray/expectations/scale_expectations.go: ExpectationsTimeout)."""


class Replay:
    """Replays the recorded objects and checks the invariants at each revision.

    Pods that KubeRay created a second time are not checked, as no controller prevents them. But each must
    be deleted; `twice` are those that are not, by UID."""

    def __init__(self, queues: Iterable[tuple[Kind[Any], Object]]) -> None:
        self.api = Api(lambda: 0)
        for kind, body in queues:
            self.api.objects[kind][key_of(body)] = dict(body)
        self._invariants = Invariants(self.api, always=True)
        self.twice: dict[str, str] = {}
        self._passed_over: set[str] = set()

    def take(self, event: Event) -> None:
        """Applies an event. Raises Broken if an invariant does not hold after it."""
        body = _named_head(event.body) if event.kind is kinds.PODS else event.body
        objects, key = self.api.objects[event.kind], key_of(body)
        before = objects.get(key)
        if event.kind is kinds.PODS and self._is_second(body):
            self._pass_over(body, gone=event.type == "DELETED")
            return
        if event.type == "DELETED":
            objects.pop(key, None)
        else:
            objects[key] = body
        by = "controller" if event.type != "DELETED" else "unknown"  # the storm deletes objects, too
        change = Change(event.revision, 0, event.kind, event.type, body, before, by)
        self.api.journal[event.kind].append(change)
        self._invariants.check(change)

    def _is_second(self, pod: Object) -> bool:
        """Returns whether pods of its RayCluster completed its group EXPECTATIONS_S before its creation."""
        meta = pod["metadata"]
        if meta["uid"] in self._passed_over:
            return True
        pods = self.api.objects[kinds.PODS]
        owners, group = meta.get("ownerReferences"), _group_of(pod)
        count = self._admitted(pod).get(group)
        if key_of(pod) in pods or not owners or count is None:
            return False
        first = [
            p["metadata"]
            for p in pods.values()
            if p["metadata"].get("ownerReferences") == owners
            and _group_of(p) == group
            and "deletionTimestamp" not in p["metadata"]
        ]
        ages_ms = (millis(meta["creationTimestamp"]) - millis(p["creationTimestamp"]) for p in first)
        return len(first) >= count and all(age_ms >= EXPECTATIONS_S * 1000 for age_ms in ages_ms)

    def _pass_over(self, pod: Object, *, gone: bool) -> None:
        uid = pod["metadata"]["uid"]
        self._passed_over.add(uid)
        if gone or "deletionTimestamp" in pod["metadata"]:
            self.twice.pop(uid, None)
        else:
            self.twice[uid] = key_of(pod)

    def _admitted(self, pod: Object) -> dict[str, int]:
        """Returns the admitted counts of the pod's Workload, by pod set."""
        uid = (pod["metadata"].get("labels") or {}).get(WORKLOAD_UID_LABEL)
        workloads = (w for w in self.api.all(kinds.WORKLOADS) if w["metadata"]["uid"] == uid)
        admission = (next(workloads, {}).get("status") or {}).get("admission") or {}
        return {a["name"]: a["count"] for a in admission.get("podSetAssignments", ())}


def _group_of(pod: Object) -> str:
    return str((pod["metadata"].get("labels") or {}).get(GROUP_LABEL, ""))


def _named_head(pod: Object) -> Object:
    """Returns the pod with the head's group renamed to that of its pod set."""
    labels = dict(pod["metadata"].get("labels") or {})
    if labels.get(GROUP_LABEL) == "headgroup":
        labels[GROUP_LABEL] = "head"
    return {**pod, "metadata": {**pod["metadata"], "labels": labels}}


def broken(events: Iterable[Event], queues: Iterable[tuple[Kind[Any], Object]]) -> list[str]:
    """Returns `revision: violation` for every revision that violates an invariant."""
    replay, replay_of_queues = Replay(queues), []
    for event in events:
        try:
            replay.take(event)
        except Broken as wrong:
            replay_of_queues.append(f"revision {event.revision}: {wrong}")
    return [
        *replay_of_queues,
        *(f"KubeRay created {key} a second time, and it was never deleted" for key in replay.twice.values()),
    ]


def unended(jobs: Iterable[Object]) -> list[str]:
    """Returns jobs that have not ended, with their state."""
    states = {key_of(j): (j.get("status") or {}).get("jobDeploymentStatus", "") for j in jobs}
    return [f"{key} is {state or 'not started'}" for key, state in states.items() if state not in ENDED]


def duplicates(events: Iterable[Event]) -> list[str]:
    """Returns jobs that had RayClusters of several starts at the same time, not counting those being deleted:
    the gang was started before the previous one was deleted.

    KubeRay may make two for one start, if it or the API server is restarted between two of its writes. No
    controller prevents that, and the pods of both count against the quota (`broken`)."""
    starts: dict[str, int] = {}
    suspended: dict[str, bool] = {}
    live: dict[str, dict[str, int]] = {}  # the start of each RayCluster, by job
    duplicate_keys: list[str] = []
    for event in events:
        meta = event.body["metadata"]
        if event.kind is kinds.RAY_JOBS:
            uid, is_suspended = meta["uid"], bool(event.body["spec"].get("suspend"))
            starts[uid] = starts.get(uid, 0) + (suspended.get(uid, True) and not is_suspended)
            suspended[uid] = is_suspended
        elif event.kind is kinds.RAY_CLUSTERS and meta.get("ownerReferences"):
            uid = meta["ownerReferences"][0]["uid"]
            of_job = live.setdefault(uid, {})
            if event.type == "DELETED" or "deletionTimestamp" in meta:
                of_job.pop(key_of(event.body), None)
            else:
                of_job.setdefault(key_of(event.body), starts.get(uid, 0))
            if len(set(of_job.values())) > 1:
                duplicate_keys.append(
                    f"revision {event.revision}: one RayJob has the RayClusters {sorted(of_job)}"
                )
    return duplicate_keys
