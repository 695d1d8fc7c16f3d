"""Invariants after every write, recomputed from the objects as simply as possible."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from muster.cluster.phases import may_follow, phase
from muster.configuration.configuration import DEFAULT, Retention
from muster.controller.workload import transitions  # noqa: F401 - declares the transitions
from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.objects.kueue import WorkloadStatus
from muster.objects.names import BUDGETS, JOB_UID_LABEL, QUEUE_LABEL, SIZES_ANNOTATION, WORKLOAD_UID_LABEL
from muster.objects.ray import KUBERAY_OPERATOR
from tests.simulation.api import Api, Body, Change, key_of
from tests.simulation.kuberay_pods import GROUP_LABEL, is_gated, requests_of
from tests.simulation.manifests import quantity

Asked = dict[str, dict[str, Fraction]]  # by group and resource
Column = tuple[str, str]  # (flavor, resource)
S = TypeVar("S", "Queues", "Classes")
P = ParamSpec("P")
JOB_KINDS = (
    kinds.RAY_JOBS,
    kinds.RAY_CLUSTERS,
    kinds.RAY_SERVICES,
    kinds.BATCH_JOBS,
    kinds.JOB_SETS,
    kinds.LEADER_WORKER_SETS,
)
NO_PODS: Mapping[str, int] = {}
SETTLED_MS = 5000  # decisions made before a change of the queues was received have been written


class Broken(AssertionError):
    """An invariant does not hold; `rule` names it."""

    rule = ""


@dataclass(frozen=True)
class Queues:
    """The queues since a revision."""

    revision: int
    cluster_queues: list[Body]
    cohorts: list[Body]


@dataclass(frozen=True)
class Classes:
    """The values of WorkloadPriorityClasses since a revision."""

    revision: int
    values: Mapping[str, int]


def at_once(kind: Kind[Any], until_ms: int) -> float:
    """The revision of an observer without delay."""
    return inf


def invariant(
    rule: str,
) -> Callable[[Callable[Concatenate["Invariants", P], None]], Callable[Concatenate["Invariants", P], None]]:
    """Names the invariant that a method checks: the rule of what it raises."""

    def named(
        check: Callable[Concatenate["Invariants", P], None],
    ) -> Callable[Concatenate["Invariants", P], None]:
        def checked(self: "Invariants", /, *args: P.args, **kwargs: P.kwargs) -> None:
            try:
                check(self, *args, **kwargs)
            except Broken as broken:
                broken.rule = rule
                raise

        return checked

    return named


class Invariants:
    """Checks of the invariants; attach `check` to an Api.

    Distrusted jobs are exempt: the tenant causes their pods and starts, but not their quota. So are the pods
    of a JobSet that was started by hand without quota, until the controller starts it: its Jobs have the
    label of the Workload from their last run, as the JobSet controller merges the JobSet's labels into them
    and removes none (JobSet v0.11.0 pkg/controllers/jobset_controller.go: resumeJob).

    Quota is checked at writes that take quota (`always`: at every write of a Workload), by the queues that
    the controller may have known when it decided: the current ones, or those before changes that it received
    within the last SETTLED_MS or not at all; and so are priorities at preemptions, by the values of their
    classes. `heard(kind, until_ms)` is the last revision that it had received at that time; the
    network determines the delay.
    """

    def __init__(
        self,
        api: Api,
        heard: Callable[[Kind[Any], int], float] = at_once,
        retention: Retention = DEFAULT.retention,
        *,
        always: bool = False,
    ) -> None:
        self._api, self._heard, self._retention, self._always = api, heard, retention, always
        self._started_by_hand: set[str] = set()  # UIDs of JobSets, last started without quota
        self._pods_by_hand: dict[str, str] = {}  # UIDs of pods of such starts -> of the JobSet
        self._distrusted: set[str] = set()  # UIDs of jobs
        self._requests: dict[str, tuple[Body, Mapping[str, Fraction]]] = {}  # of pods, with their spec
        self._excess: dict[tuple[str, str], int] = {}  # live pods without quota, by Workload and pod set
        self._counts: dict[tuple[str, str], int] = {}  # pods with quota, likewise
        self._over: dict[str, int] = {}  # UIDs of jobs whose finished Workload was deleted -> revision
        self._queues = [self._queues_now(0)]  # the newest last, as are the classes
        self._classes = [self._classes_now(0)]
        self.checked = 0

    def distrust(self, job: Body) -> None:
        self._distrusted.add(job["metadata"]["uid"])

    def go_back(self, revision: int) -> None:
        """Forgets what the API server forgets: changes after the revision."""
        self._queues = [queues for queues in self._queues if queues.revision <= revision]
        self._classes = [classes for classes in self._classes if classes.revision <= revision]
        self._over = {uid: at for uid, at in self._over.items() if at <= revision}
        live = self._live_groups()
        for workload in self._api.all(kinds.WORKLOADS):  # pods that have ended since that revision run again
            uid = workload["metadata"]["uid"]
            for name, count, running in _groups_with_quota(workload, live.get(uid, {})):
                self._excess[uid, name], self._counts[uid, name] = max(0, running - count), count

    def trusts(self, job: Body) -> bool:
        return job["metadata"]["uid"] not in self._distrusted

    def check(self, change: Change) -> None:
        self.checked += 1
        if change.kind in (kinds.CLUSTER_QUEUES, kinds.COHORTS) and change_of_spec(change):
            self._queues.append(self._queues_now(change.revision))
        if change.kind is kinds.PRIORITIES:
            self._classes.append(self._classes_now(change.revision))
        if change.kind is kinds.WORKLOADS:
            if self._always or takes_quota(change):
                self._quota_is_kept(change)
            self._retention_deletes_what_is_over(change)
            if change.type == "ADDED":
                self._workload_is_the_only_one(change)
            self._creator_ends_it(change)
            self._priority_is_kept(change)
            self._phases_follow_each_other(change)
        if change.kind in JOB_KINDS:
            self._starts_are_whole(change)
        if change.kind is kinds.PODS and change.type == "ADDED":
            self._exempt_if_started_by_hand(change.body)
        if change.kind in (kinds.PODS, kinds.WORKLOADS, kinds.RAY_JOBS):
            self._pods_have_quota()

    @invariant("workload is the only one")
    def _workload_is_the_only_one(self, change: Change) -> None:
        uid = owner_uid(change.body)
        same = [key_of(w) for w in self._api.all(kinds.WORKLOADS) if owner_uid(w) == uid]
        expect(len(same) == 1 or not uid, f"one job has the Workloads {same}")
        expect(uid not in self._over, f"{same} was created for a job that had finished")

    @invariant("retention deletes what has ended")
    def _retention_deletes_what_is_over(self, change: Change) -> None:
        """Only its retention deletes a finished Workload whose job exists, after its pods are deleted."""
        meta, before = change.body["metadata"], change.before
        if change.type != "DELETED" or condition(before, "Finished").get("status") != "True":
            return
        if not is_without_job(change.body):
            self._over[owner_uid(change.body)] = change.revision
        if change.by == "controller" and "deletionTimestamp" not in meta:
            name, live = key_of(change.body), self._live_groups().get(meta["uid"])
            expect(not live, f"{name} was deleted, but its pods {live} live")
            kept_s = self._retention.after_finished_s
            stays = is_without_job(change.body) or self._job_stays(owner_uid(change.body))
            expect(kept_s is not None or not stays, f"{name} was deleted, but is kept as long as its job")

    def _job_stays(self, uid: str) -> bool:
        """Returns whether the job exists, is in a queue, and has no other owner or controller."""
        jobs = (job for kind in JOB_KINDS for job in self._api.all(kind))
        matches: Body = next((job for job in jobs if job["metadata"]["uid"] == uid), {})
        meta = matches.get("metadata", {})
        is_managed = matches.get("spec", {}).get("managedBy", KUBERAY_OPERATOR) == KUBERAY_OPERATOR
        is_owned = any(owner.get("controller") for owner in meta.get("ownerReferences", ()))
        is_queued = bool(meta.get("labels", {}).get(QUEUE_LABEL))
        return is_queued and is_managed and not is_owned and "deletionTimestamp" not in meta

    @invariant("creator ends it")
    def _creator_ends_it(self, change: Change) -> None:
        """A Workload without a job is deleted, finished, and relieved of its quota by others only."""
        before, name = change.before, key_of(change.body)
        if change.by != "controller" or before is None or not is_without_job(before):
            return
        leaves = "deletionTimestamp" in before["metadata"]
        deleted = change.type == "DELETED" or "deletionTimestamp" in change.body["metadata"]
        over = self._retention.after_finished_s is not None and bool(condition(before, "Finished"))
        expect(leaves or over or not deleted, f"the controller deleted {name}, which it did not create")
        expect(
            holds_quota(change.body) or not holds_quota(before), f"the controller took the quota of {name}"
        )

    @invariant("quota is kept")
    def _quota_is_kept(self, change: Change) -> None:
        usage: dict[str, dict[Column, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
        live = self._live_groups()
        for workload in self._api.all(kinds.WORKLOADS):
            groups = live.get(workload["metadata"]["uid"], {})
            if holds_quota(workload) or groups:
                for column, amount in usage_of(workload, groups).items():
                    usage[workload["status"]["admission"]["clusterQueue"]][column] += amount
        columns = {c for used in usage.values() for c in used}
        if not self._always:
            columns &= set(usage_of(change.body))
        by_column = {c: {queue: used[c] for queue, used in usage.items()} for c in columns}
        pods = live.get(change.body["metadata"]["uid"], NO_PODS)
        growth = None if self._always else growth_of(change, pods)
        over = [over_quota(queues, by_column, growth) for queues in self._queues_known(change.time_ms)]
        expect(not all(over), over[-1])

    @invariant("phases follow each other")
    def _phases_follow_each_other(self, change: Change) -> None:
        """Declared transitions (muster/cluster/phases.py) lead from the old phase to the new."""
        old, new = (body.get("status", {}) if body else None for body in (change.before, change.body))
        if old is not None and old != new:
            before, after = (phase(msgspec.convert(status, WorkloadStatus)) for status in (old, new))
            expect(may_follow(before, after), f"{key_of(change.body)} went from {before} to {after}")

    def _queues_now(self, revision: int) -> Queues:
        return Queues(revision, self._api.all(kinds.CLUSTER_QUEUES), self._api.all(kinds.COHORTS))

    def _queues_known(self, now_ms: int) -> list[Queues]:
        """Returns all queues that the controller may have used for its decision; the newest is the last."""
        return self._since_heard(self._queues, now_ms, kinds.CLUSTER_QUEUES, kinds.COHORTS)

    def _since_heard(self, states: list[S], now_ms: int, *of: Kind[Any]) -> list[S]:
        """Returns the states that the controller may have known when it decided."""
        heard = min(self._heard(kind, now_ms - SETTLED_MS) for kind in of)
        heard_states = [state for state in states if state.revision <= heard]
        return states[max(0, len(heard_states) - 1) :]

    def _classes_now(self, revision: int) -> Classes:
        values = {
            key_of(priority_class): int(priority_class["value"])
            for priority_class in self._api.all(kinds.PRIORITIES)
        }
        return Classes(revision, values)

    @invariant("priority is kept")
    def _priority_is_kept(self, change: Change) -> None:
        before, now = condition(change.before, "Preempted"), condition(change.body, "Preempted")
        if now.get("status") != "True" or before.get("status") == "True":
            return
        match = re.search(r"UID: ([\w-]+)", now["message"])
        assert match is not None
        preemptors = [w for w in self._api.all(kinds.WORKLOADS) if w["metadata"]["uid"] == match[1]]
        for preemptor in preemptors:
            field = "withinClusterQueue" if now["reason"] == "InClusterQueue" else "reclaimWithinCohort"
            policy = self._preemption_of(preemptor).get(field)
            classes = self._since_heard(self._classes, change.time_ms, kinds.PRIORITIES)
            ahead = [priority_of(preemptor, c) - priority_of(change.body, c) for c in classes]
            allowed = policy == "Any" or max(ahead) >= (policy == "LowerPriority")
            # When a budget is used up depends on all that ran: test_budgets.py measures it.
            allowed |= "has used up its" in now["message"] and self._has_soft_budget(change.body)
            expect(allowed, f"{key_of(preemptor)} preempted {key_of(change.body)}, ahead by {ahead[-1]}")

    def _has_soft_budget(self, workload: Body) -> bool:
        owners = self._queue_of(workload), *self._api.all(kinds.COHORTS)
        return any('"soft"' in owner["metadata"].get("annotations", {}).get(BUDGETS, "") for owner in owners)

    def _preemption_of(self, workload: Body) -> Body:
        policies: Body = self._queue_of(workload)["spec"].get("preemption", {})
        return policies

    def _queue_of(self, workload: Body) -> Body:
        local = f"{workload['metadata']['namespace']}/{workload['spec']['queueName']}"
        target = self._api.get(kinds.LOCAL_QUEUES, local)["spec"]["clusterQueue"]
        return self._api.get(kinds.CLUSTER_QUEUES, target)

    @invariant("starts are whole")
    def _starts_are_whole(self, change: Change) -> None:
        uid = change.body["metadata"]["uid"]
        runs = change.type != "DELETED" and not is_suspended(change.body)
        ran = change.before is not None and not is_suspended(change.before)
        if runs and not ran and "ownerReferences" not in change.body["metadata"]:
            workload = self._workload_of(uid)
            if uid in self._distrusted:
                return
            if change.by != "controller" and condition(workload, "Admitted").get("status") != "True":
                holds = condition(workload, "QuotaReserved").get("status") == "True"
                if change.kind is kinds.JOB_SETS and not holds:
                    self._started_by_hand.add(uid)
                return
            self._started_by_hand.discard(uid)
            if workload is None:
                raise Broken(f"{key_of(change.body)} was started without a Workload")
            name = key_of(workload)
            expect(condition(workload, "Admitted").get("status") == "True", f"{name} started, not admitted")
            expect(condition(workload, "Evicted").get("status") != "True", f"{name} started while evicted")
            checks = workload["status"].get("admissionChecks", [])
            expect(all(c["state"] == "Ready" for c in checks), f"{name} started before its checks")
            counts = {s["name"]: s["count"] for s in workload["spec"]["podSets"]}
            remaining = remaining_pods(workload)
            admitted_counts = {
                a["name"]: a["count"] for a in workload["status"]["admission"]["podSetAssignments"]
            }
            small = {n: count for n, count in counts.items() if admitted_counts[n] < count}
            sizes = SIZES_ANNOTATION in workload["metadata"].get("annotations", {})
            between = [remaining[n] <= count <= counts[n] for n, count in admitted_counts.items()]
            whole = not small if sizes else all(between) and admitted_counts.keys() == counts.keys()
            expect(whole, f"{name} started with {admitted_counts} of {counts}")

    @invariant("pods have quota")
    def _pods_have_quota(self) -> None:
        """Pods of a gang exist only while its Workload holds quota for them, evicted or not."""
        workloads = {w["metadata"]["uid"]: w for w in self._api.all(kinds.WORKLOADS)}
        asked = self._asked_by_live_groups()
        for uid, groups in self._live_groups().items():
            workload = workloads.get(uid)
            if self._distrusted and self._job_of(uid) in self._distrusted:
                continue
            if workload is None:
                raise Broken(f"the Workload with UID {uid} is deleted, but its pods {dict(groups)} exist")
            name = key_of(workload)
            held = condition(workload, "QuotaReserved").get("status") == "True"
            expect(held, f"{name} released its quota, but its pods {dict(groups)} live")
            admitted_counts = {
                a["name"]: a["count"] for a in workload["status"]["admission"]["podSetAssignments"]
            }
            if SIZES_ANNOTATION in workload["metadata"].get("annotations", {}):
                self._gates_are_kept(workload, groups)
                continue
            most = {g: min(n, remaining_pods(workload).get(g, n)) for g, n in admitted_counts.items()}
            too_many = {g: n for g, n in groups.items() if n > most.get(g, 0)}
            expect(not too_many, f"{name} has quota for {most}, but {too_many} live")
            expect_counted(workload, asked[uid])

    def _gates_are_kept(self, workload: Body, live: Mapping[str, int]) -> None:
        """Pods of an elastic gang beyond its quota are those that ran when it was lowered."""
        uid = workload["metadata"]["uid"]
        for name, count, running in _groups_with_quota(workload, live):
            before, excess = self._excess.get((uid, name), 0), max(0, running - count)
            lowered = max(0, self._counts.get((uid, name), count) - count)
            where = f"{name} of {key_of(workload)}"
            expect(excess <= before + lowered, f"{where} has quota for {count}, but {running} live")
            self._excess[uid, name], self._counts[uid, name] = excess, count

    def _exempt_if_started_by_hand(self, pod: Body) -> None:
        """Exempts a new pod of a JobSet that was started by hand without quota."""
        job = self._job_of(pod["metadata"]["labels"].get(WORKLOAD_UID_LABEL)) if self._started_by_hand else ""
        if job in self._started_by_hand:
            self._pods_by_hand[pod["metadata"]["uid"]] = job

    def _job_of(self, workload_uid: str | None) -> str:
        """Returns the UID of the Workload's job, even if the Workload is deleted; empty if it has none."""
        created = (c.body for c in self._api.journal[kinds.WORKLOADS] if c.type == "ADDED")
        return next((owner_uid(w) for w in created if w["metadata"]["uid"] == workload_uid), "")

    def _live_groups(self) -> Mapping[str, Mapping[str, int]]:
        """Returns the number of KubeRay's live pods by the Workload's UID and group."""
        live: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for uid, group, _ in self.live_pods():
            live[uid][group] += 1
        return live

    def _asked_by_live_groups(self) -> Mapping[str, Asked]:
        """Returns what these pods request together, by the Workload's UID."""
        asked: dict[str, Asked] = defaultdict(lambda: defaultdict(lambda: defaultdict(Fraction)))
        for uid, group, pod in self.live_pods():
            for resource, amount in self._requests_of(pod).items():
                asked[uid][group][resource] += amount
        return asked

    def _requests_of(self, pod: Body) -> Mapping[str, Fraction]:
        """Returns the pod's requests, summed once for each version of its spec: bodies never change."""
        spec, uid = pod["spec"], pod["metadata"]["uid"]
        if uid not in self._requests or self._requests[uid][0] is not spec:
            self._requests[uid] = spec, requests_of(spec)
        return self._requests[uid][1]

    def live_pods(self) -> Iterator[tuple[str, str, Body]]:
        """Yields operators' live pods, each with its Workload's UID and its group, except exempt ones."""
        for pod in self._api.all(kinds.PODS):
            labels = pod["metadata"]["labels"]
            uid, group = labels.get(WORKLOAD_UID_LABEL), labels.get(GROUP_LABEL)
            ended = pod["status"]["phase"] in ("Succeeded", "Failed")
            by_hand = self._pods_by_hand.get(pod["metadata"]["uid"]) in self._started_by_hand
            if None not in (uid, group) and not ended and not by_hand and not is_gated(pod):
                yield uid, group, pod

    def _workload_of(self, job_uid: str) -> Body | None:
        owned = (w for w in self._api.all(kinds.WORKLOADS) if owner_uid(w) == job_uid)
        return next(owned, None)


def _groups_with_quota(workload: Body, live: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
    """Yields the name of each pod set with quota, its pods with quota, and its live pods."""
    for assigned in (workload["status"].get("admission") or {}).get("podSetAssignments", []):
        yield assigned["name"], assigned["count"], live.get(assigned["name"], 0)


@dataclass(frozen=True)
class Growth:
    """The usage that a write adds to its ClusterQueue."""

    queue: str
    added: Mapping[Column, Fraction]


def growth_of(change: Change, live: Mapping[str, int]) -> Growth:
    """Returns what a Workload that holds quota uses after a write, without what it held before in its
    queue."""
    queue, added = change.body["status"]["admission"]["clusterQueue"], usage_of(change.body, live)
    before = change.before
    if before is not None and holds_quota(before) and before["status"]["admission"]["clusterQueue"] == queue:
        for column, amount in usage_of(before).items():
            added[column] -= amount
    return Growth(queue, added)


def over_quota(
    queues: Queues, usage: Mapping[Column, Mapping[str, Fraction]], growth: Growth | None = None
) -> str:
    """Names a node that uses more than allowed of a column, empty if none. `usage` is by ClusterQueue. With
    `growth`, only nodes whose usage it raises: an administrator may have taken quota from others, and quota
    that a queue does not lend stays its own even if its cohort is over its quota."""
    for column, used in usage.items():
        earlier: dict[tuple[str, str], Fraction] = {}
        if growth is not None:
            before = {**used, growth.queue: used[growth.queue] - growth.added.get(column, Fraction(0))}
            earlier = {node.key: node.used for node in _nodes(queues, column, before)}
        for node in _nodes(queues, column, used):
            if node.most is not None and node.used > max(node.most, earlier.get(node.key, node.most)):
                return f"{node.key[1]} uses {node.used} of {node.most} {column}"
    return ""


@dataclass(frozen=True)
class Node:
    """A ClusterQueue or Cohort with its usage and its limit of a column; None: unlimited."""

    key: tuple[str, str]  # kind and name
    used: Fraction
    most: Fraction | None


def _nodes(queues: Queues, column: Column, usage: Mapping[str, Fraction]) -> Iterator[Node]:
    """Yields the nodes of one column up the tree: quota that a node may lend counts at its parent."""
    quota: dict[str, Fraction] = defaultdict(Fraction)  # by cohort, from its members
    used: dict[str, Fraction] = defaultdict(Fraction)
    cohorts = {c["metadata"]["name"]: c for c in queues.cohorts}
    waiting = [(q, usage.get(key_of(q), Fraction(0))) for q in queues.cluster_queues]
    done: set[str] = set()
    while waiting:
        for node, node_used in waiting:
            spec, name = node["spec"], key_of(node)
            nominal, borrowing, lending = limits(spec, column)
            total = nominal + quota[name]
            parent = spec.get("cohortName") or spec.get("parentName")
            most = total if parent is None else total + borrowing if borrowing is not None else None
            yield Node(("Cohort" if done else "ClusterQueue", name), node_used, most)
            if parent is not None:
                home = max(Fraction(0), total - lending) if lending is not None else Fraction(0)
                quota[parent] += total - home
                used[parent] += max(Fraction(0), node_used - home)
        done |= {key_of(node) for node, _ in waiting}
        waiting = [
            (c, used[name])
            for name, c in cohorts.items()
            if name not in done
            and all(n in done for n, other in cohorts.items() if other["spec"].get("parentName") == name)
        ]


def expect_counted(workload: Body, asked: Asked) -> None:
    """Pods of a pod set together request no more than its admission counts of the queue's resources."""
    for assigned in workload["status"]["admission"]["podSetAssignments"]:
        for resource, counted in assigned["resourceUsage"].items():
            runs = asked[assigned["name"]][resource]
            where = f"pods of {assigned['name']} of {key_of(workload)}"
            expect(runs <= quantity(counted), f"{where} request {runs} {resource}, {counted} is counted")


def change_of_spec(change: Change) -> bool:
    """Returns whether the spec changed, or the object was created or deleted."""
    before = change.before if change.type == "MODIFIED" else None
    return before is None or before.get("spec") != change.body.get("spec")


def expect(holds: bool, message: str) -> None:
    if not holds:
        raise Broken(message)


def is_suspended(job: Body) -> bool:
    spec: Body = job.get("spec", {})
    if "leaderWorkerTemplate" in spec:
        return bool(spec["replicas"] == 0)
    return bool(spec.get("suspend") or spec.get("rayClusterConfig", {}).get("suspend"))


def condition(body: Body | None, kind: str) -> Body:
    conditions = (body or {}).get("status", {}).get("conditions", [])
    match: Body = next((c for c in conditions if c["type"] == kind), {})
    return match


def holds_quota(workload: Body) -> bool:
    reserved = condition(workload, "QuotaReserved").get("status") == "True"
    return reserved and condition(workload, "Finished").get("status") != "True"


def takes_quota(change: Change) -> bool:
    """Returns whether a Workload holds quota that it did not hold before the write. One that shrinks takes
    none, even if it still holds more than an administrator has left to its queue."""
    if change.type == "DELETED" or not holds_quota(change.body):
        return False
    before = change.before
    if before is None or not holds_quota(before):
        return True
    old, new = (body["status"]["admission"] for body in (before, change.body))
    if old["clusterQueue"] != new["clusterQueue"]:
        return True
    held = usage_of(before)
    return any(amount > held.get(column, 0) for column, amount in usage_of(change.body).items())


def owner_uid(body: Body) -> str:
    """Returns the UID of its first owner; without one, of the job that its label names, or ""."""
    owners = body["metadata"].get("ownerReferences")
    return str(owners[0]["uid"] if owners else body["metadata"].get("labels", {}).get(JOB_UID_LABEL, ""))


def is_without_job(workload: Body) -> bool:
    """Returns whether a user or another controller created the Workload, and not the controller for a job."""
    return not owner_uid(workload)


def priority_of(workload: Body, classes: Classes) -> int:
    """Returns the value of its class: the Workload is updated later."""
    name = (workload["spec"].get("priorityClassRef") or {}).get("name", "")
    return classes.values.get(name, int(workload["spec"]["priority"]))


def usage_of(workload: Body, live: Mapping[str, int] = NO_PODS) -> dict[Column, Fraction]:
    """Returns what the admission counts, or the live pods of an elastic gang if there are more of them."""
    usage: dict[Column, Fraction] = defaultdict(Fraction)
    elastic = SIZES_ANNOTATION in workload["metadata"].get("annotations", {})
    remaining = remaining_pods(workload)
    for assigned in workload["status"]["admission"]["podSetAssignments"]:
        count, name = assigned["count"], assigned["name"]
        pods = max(count, live.get(name, 0)) if elastic else min(count, remaining.get(name, count))
        for resource, amount in assigned["resourceUsage"].items():
            each = quantity(amount) / count if count else Fraction(0)
            usage[assigned["flavors"][resource], resource] += each * pods
    return usage


def remaining_pods(workload: Body) -> dict[str, int]:
    """Returns the pods that have not ended for good, by pod set: the quota of the others was released, and
    is not reserved again (Kueue: podSetsCountsAfterReclaim in pkg/workload/workload.go)."""
    reclaimed = {pods["name"]: pods["count"] for pods in workload["status"].get("reclaimablePods", ())}
    pod_sets = workload["spec"].get("podSets", ())
    return {pods["name"]: pods["count"] - reclaimed.get(pods["name"], 0) for pods in pod_sets}


def limits(spec: Mapping[str, Any], column: Column) -> tuple[Fraction, Fraction | None, Fraction | None]:
    """Returns nominal quota, borrowing limit and lending limit."""
    flavor, resource = column
    for group in spec.get("resourceGroups", []):
        for quotas in group["flavors"]:
            for quota in quotas["resources"]:
                if (quotas["name"], quota["name"]) == (flavor, resource):
                    bounds = [quota.get("borrowingLimit"), quota.get("lendingLimit")]
                    borrowing, lending = (None if b is None else readable(b) for b in bounds)
                    return readable(quota["nominalQuota"]), borrowing, lending
    return Fraction(0), None, None


def readable(text: str) -> Fraction:
    """Returns the quantity; an invalid quota counts as 0."""
    with suppress(ValueError):
        return max(Fraction(0), quantity(text))
    return Fraction(0)
