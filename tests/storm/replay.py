"""Replays the record of a storm and checks the simulation's invariants, except where only KubeRay can err."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.objects.meta import millis
from muster.objects.names import WORKLOAD_UID_LABEL
from sandbox.cluster.kinds import Object
from tests.simulation.api import Api, Change, key_of
from tests.simulation.invariants import Invariants, holds_quota
from tests.simulation.kuberay_pods import GROUP_LABEL
from tests.storm.recorder import Event

EXPECTATIONS_S = 30
"""After so long KubeRay v1.6.2 takes a pod that it made, and that its cache has not shown it, for gone, and
makes another one (controllers/ray/expectations/scale_expectations.go: ExpectationsTimeout)."""
ANSWER_S = 1.0
"""Answers to creations arrive within this time after the second of the object's timestamp."""


class Outage(NamedTuple):
    """A time without API server or without etcd, in seconds since the epoch."""

    begins_s: float
    ends_s: float

    def may_lose_answer(self, created_s: float) -> bool:
        """Returns whether the answer to a creation with this timestamp may not have arrived."""
        return created_s <= self.ends_s and self.begins_s < created_s + 1.0 + ANSWER_S


class PodGroup(NamedTuple):
    """The pods of one group of a RayCluster."""

    cluster_uid: str
    name: str


class Replay:
    """Replays the recorded objects and checks the invariants at each revision.

    Two kinds of pods are not checked, as no controller prevents them, but must be deleted; `undeleted` are
    the ones that still exist, by UID. KubeRay creates a pod a second time after it lost the answer to a
    creation in an outage, and any number 30 s after the first ones. And it creates pods of a RayCluster that
    was deleted before, from a cache that does not show the deletion yet."""

    def __init__(self, queues: Iterable[tuple[Kind[Any], Object]], outages: Sequence[Outage] = ()) -> None:
        self.api = Api(lambda: 0)
        for kind, body in queues:
            self.api.objects[kind][key_of(body)] = dict(body)
        self._invariants = Invariants(self.api, always=True)
        self.undeleted: dict[str, str] = {}
        self.repeated: Counter[PodGroup] = Counter()
        """The number of pods that KubeRay created again after an answer was lost."""
        self._outages = outages
        self._deleted_clusters: set[str] = set()  # UIDs
        self._passed_over: dict[str, str] = {}  # UIDs of pods -> how KubeRay created them
        self._created_s: dict[PodGroup, dict[str, float]] = defaultdict(dict)  # of every pod, by UID

    def take(self, event: Event) -> None:
        """Applies an event. Raises Broken if an invariant does not hold after it."""
        body = _named_head(event.body) if event.kind is kinds.PODS else event.body
        objects, key = self.api.objects[event.kind], key_of(body)
        before = objects.get(key)
        if event.kind is kinds.PODS:
            unpreventable = self._unpreventable(body)
            meta = body["metadata"]
            self._created_s[_pod_group(body)][meta["uid"]] = millis(meta["creationTimestamp"]) / 1000
            if unpreventable:
                self._pass_over(body, unpreventable, gone=event.type == "DELETED")
                return
        if event.kind is kinds.RAY_CLUSTERS and event.type == "DELETED":
            self._deleted_clusters.add(body["metadata"]["uid"])
        if event.type == "DELETED":
            objects.pop(key, None)
        else:
            objects[key] = body
        by = "controller" if event.type != "DELETED" else "unknown"  # the storm deletes objects, too
        change = Change(event.revision, 0, event.kind, event.type, body, before, by)
        self.api.journal[event.kind].append(change)
        self._invariants.check(change)

    def holders(self) -> list[str]:
        """Returns a line for each Workload that holds quota or has live pods, with these pods."""
        pods: dict[str, list[str]] = defaultdict(list)
        for uid, _, pod in self._invariants.live_pods():
            meta = pod["metadata"]
            ending = " being deleted" if "deletionTimestamp" in meta else ""
            created = meta["creationTimestamp"]
            pods[uid].append(f"{meta['name']} {pod['status']['phase']}, created {created}{ending}")
        lines = []
        for workload in self.api.all(kinds.WORKLOADS):
            live = pods.get(workload["metadata"]["uid"], [])
            if live or holds_quota(workload):
                conditions = (workload.get("status") or {}).get("conditions") or ()
                states = ",".join(c["type"] for c in conditions if c["status"] == "True")
                lines.append(f"{key_of(workload)} ({states}): {'; '.join(live) or 'no live pods'}")
        return lines

    def unchecked_pods(self) -> Mapping[str, int]:
        """Returns the number of pods that no controller prevents, by how KubeRay created them."""
        return Counter(self._passed_over.values())

    def _unpreventable(self, pod: Object) -> str:
        """Returns how KubeRay created a pod that no controller prevents; empty for every other pod."""
        uid, owners = pod["metadata"]["uid"], pod["metadata"].get("ownerReferences")
        if uid in self._passed_over:
            return self._passed_over[uid]
        if key_of(pod) in self.api.objects[kinds.PODS] or not owners:
            return ""
        if owners[0]["uid"] in self._deleted_clusters:
            return "for a RayCluster that had been deleted"
        return "a second time" if self._is_second(pod) else ""

    def _is_second(self, pod: Object) -> bool:
        """Returns whether pods of its RayCluster completed its group before its creation, and KubeRay did not
        know: they were there for EXPECTATIONS_S, or an outage lost an answer."""
        meta = pod["metadata"]
        pods = self.api.objects[kinds.PODS]
        owners, group = meta["ownerReferences"], _group_of(pod)
        count = self._admitted(pod).get(group)
        if count is None:
            return False
        first = [
            p["metadata"]
            for p in pods.values()
            if p["metadata"].get("ownerReferences") == owners
            and _group_of(p) == group
            and "deletionTimestamp" not in p["metadata"]
        ]
        ages_ms = (millis(meta["creationTimestamp"]) - millis(p["creationTimestamp"]) for p in first)
        if len(first) < count:
            return False
        if all(age_ms >= EXPECTATIONS_S * 1000 for age_ms in ages_ms):
            return True
        pod_group = _pod_group(pod)
        if self.repeated[pod_group] >= self._answers_lost(pod_group):
            return False
        self.repeated[pod_group] += 1
        return True

    def _answers_lost(self, pod_group: PodGroup) -> int:
        """Returns the number of pods of the group whose creation may have looked failed to KubeRay."""
        return sum(
            any(outage.may_lose_answer(created_s) for outage in self._outages)
            for created_s in self._created_s[pod_group].values()
        )

    def _pass_over(self, pod: Object, creation: str, *, gone: bool) -> None:
        uid = pod["metadata"]["uid"]
        self._passed_over[uid] = creation
        if gone or "deletionTimestamp" in pod["metadata"]:
            self.undeleted.pop(uid, None)
        else:
            self.undeleted[uid] = f"{key_of(pod)} {creation}"

    def _admitted(self, pod: Object) -> dict[str, int]:
        """Returns the admitted counts of the pod's Workload, by pod set."""
        uid = (pod["metadata"].get("labels") or {}).get(WORKLOAD_UID_LABEL)
        workloads = (w for w in self.api.all(kinds.WORKLOADS) if w["metadata"]["uid"] == uid)
        admission = (next(workloads, {}).get("status") or {}).get("admission") or {}
        return {a["name"]: a["count"] for a in admission.get("podSetAssignments", ())}


def _pod_group(pod: Object) -> PodGroup:
    owners = pod["metadata"].get("ownerReferences") or [{"uid": ""}]
    return PodGroup(owners[0]["uid"], _group_of(pod))


def _group_of(pod: Object) -> str:
    return str((pod["metadata"].get("labels") or {}).get(GROUP_LABEL, ""))


def _named_head(pod: Object) -> Object:
    """Returns the pod with the head's group renamed to that of its pod set."""
    labels = dict(pod["metadata"].get("labels") or {})
    if labels.get(GROUP_LABEL) == "headgroup":
        labels[GROUP_LABEL] = "head"
    return {**pod, "metadata": {**pod["metadata"], "labels": labels}}
