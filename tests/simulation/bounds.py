"""Conditions that may be violated for a bounded time, checked at every write.

Invariants always hold; these hold after the controller, KubeRay and the kubelets had time to act, counted
from the violation or, if later, from the end of a fault that keeps the controller from noticing or writing.
Clock jumps are no such fault.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction

from muster.controller.workload.suspension import SUSPENSION_MS_MAX
from muster.kube import kinds
from muster.objects.names import QUEUE_LABEL, RESOURCE_IN_USE, WORKLOAD_UID_LABEL
from tests.simulation.api import Api, Body, Change, key_of
from tests.simulation.invariants import (
    Broken,
    condition,
    holds_quota,
    is_without_job,
    owner_uid,
    usage_of,
)
from tests.simulation.kuberay import is_others
from tests.simulation.kuberay_pods import is_gated
from tests.simulation.manifests import GPU, quantity

TEMPLATES_MS = 30_000
POD_GRACE_MS = 30_000  # of a force-deleted pod
# KubeRay's time, then the grace period of deleted pods, and time for passes, writes and kubelets
STOP_MS = SUSPENSION_MS_MAX + POD_GRACE_MS + 30_000
BOUNDS_MS = {
    "templates_exist": TEMPLATES_MS,
    "evicted_stop": STOP_MS,
    "usage_covers_pods": STOP_MS,
}
ENDS = ("Failed", "BookingExpired", "CapacityRevoked")
OF_JOBS = (
    kinds.RAY_JOBS,
    kinds.RAY_CLUSTERS,
    kinds.RAY_SERVICES,
    kinds.BATCH_JOBS,
    kinds.JOB_SETS,
    kinds.LEADER_WORKER_SETS,
)
OPERATED = {kind.name for kind in OF_JOBS if kind is not kinds.BATCH_JOBS}  # their operators create Jobs
RELEVANT = {
    *OF_JOBS,
    kinds.WORKLOADS,
    kinds.PODS,
    kinds.PROVISIONING_REQUESTS,
    kinds.POD_TEMPLATES,
}

Subject = tuple[str, str]  # (rule, what breaks it)


class Bounds:
    """Checks of bounds; attach `check` to an Api. `excuse` moves the start of all times into the future."""

    def __init__(self, api: Api, clock_ms: Callable[[], int]) -> None:
        self._api, self._clock_ms = api, clock_ms
        self._wrong: dict[Subject, tuple[int, str]] = {}  # (start, description)
        self._excused_ms = 0  # by `clock_ms`, which never leaps
        self._gpus: dict[str, tuple[Body, Fraction]] = {}  # of pods, by UID, with their spec
        self._owners: dict[str, str] = {}  # UIDs of parts, including deleted ones -> of their jobs

    def excuse(self, for_ms: int) -> None:
        self._excused_ms = max(self._excused_ms, self._clock_ms() + for_ms)

    def check(self, change: Change) -> None:
        if is_part(change):
            owner = owner_uid(change.body)
            self._owners[change.body["metadata"]["uid"]] = self._owners.get(owner, owner)
        now_ms = self._clock_ms()
        if change.kind in RELEVANT:
            results = [*self._lacking_templates(), *self._still_evicted(), *self._uncovered_pods()]
            self._wrong = {of: (self._wrong.get(of, (now_ms, ""))[0], how) for of, how in results}
        for (rule, subject), (since_ms, how) in self._wrong.items():
            late_ms = now_ms - max(since_ms, self._excused_ms)
            if late_ms > BOUNDS_MS[rule]:
                broken = Broken(f"{subject} {how}, for {late_ms / 1000:.0f} s")
                broken.rule = rule
                raise broken

    def _lacking_templates(self) -> Iterator[tuple[Subject, str]]:
        """Yields requests of gangs with quota that cannot be answered, as a pod template is missing."""
        held = {w["metadata"]["uid"] for w in self._api.all(kinds.WORKLOADS) if self._stays(w)}
        for request in self._api.all(kinds.PROVISIONING_REQUESTS):
            meta = request["metadata"]
            if "deletionTimestamp" in meta or owner_uid(request) not in held or has_ended(request):
                continue
            names = [s["podTemplateRef"]["name"] for s in request["spec"]["podSets"]]
            gone = [n for n in names if not self._api.find(kinds.POD_TEMPLATES, f"{meta['namespace']}/{n}")]
            if gone:
                yield ("templates_exist", key_of(request)), f"lacks its pod templates {gone}"

    def _stays(self, workload: Body) -> bool:
        """Returns whether it holds quota, and is not about to lose it."""
        leaves = (
            condition(workload, "Evicted").get("status") == "True"
            or "deletionTimestamp" in workload["metadata"]
        )
        stays = is_without_job(workload) or self._has_queued_job(workload)
        return stays and holds_quota(workload) and not leaves

    def _has_queued_job(self, workload: Body) -> bool:
        jobs = (j for kind in OF_JOBS for j in self._api.all(kind))
        job = next((j for j in jobs if j["metadata"]["uid"] == owner_uid(workload)), None)
        return job is not None and is_queued(job) and "deletionTimestamp" not in job["metadata"]

    def _still_evicted(self) -> Iterator[tuple[Subject, str]]:
        """Yields evicted gangs that still hold quota."""
        for workload in self._api.all(kinds.WORKLOADS):
            if holds_quota(workload) and condition(workload, "Evicted").get("status") == "True":
                reason = condition(workload, "Evicted")["reason"]
                yield ("evicted_stop", key_of(workload)), f"was evicted ({reason}) and holds quota"

    def _uncovered_pods(self) -> Iterator[tuple[Subject, str]]:
        """Yields jobs whose pods, by their owners or by their label, have more GPUs than their Workloads
        hold. Jobs in no queue may hold any."""
        used: dict[str, Fraction] = defaultdict(Fraction)
        jobs = {
            (w["metadata"]["namespace"], w["metadata"]["uid"]): owner_uid(w)
            for w in self._api.all(kinds.WORKLOADS)
        }
        for pod in self._api.all(kinds.PODS):
            meta = pod["metadata"]
            owners = [str(owner["uid"]) for owner in meta.get("ownerReferences", ())]
            of = [self._owners.get(uid, uid) for uid in owners[:1]]
            of += [jobs.get((meta["namespace"], meta.get("labels", {}).get(WORKLOAD_UID_LABEL, "")), "")]
            if any(of) and pod["status"]["phase"] not in ("Succeeded", "Failed") and not is_gated(pod):
                used[next(uid for uid in of if uid)] += self._gpus_of(pod)
        held: dict[str, Fraction] = defaultdict(Fraction)
        for workload in self._api.all(kinds.WORKLOADS):
            if holds_quota(workload) or RESOURCE_IN_USE in workload["metadata"].get("finalizers", ()):
                held[owner_uid(workload)] += held_gpus(workload)
        for job in (j for kind in OF_JOBS for j in self._api.all(kind)):
            uid = job["metadata"]["uid"]
            if used[uid] > held[uid] and is_queued(job):
                yield ("usage_covers_pods", key_of(job)), f"has {used[uid]} GPUs and holds {held[uid]}"

    def _gpus_of(self, pod: Body) -> Fraction:
        """Returns the pod's GPUs, summed once for each version of its spec: bodies never change."""
        spec, uid = pod["spec"], pod["metadata"]["uid"]
        if uid not in self._gpus or self._gpus[uid][0] is not spec:
            self._gpus[uid] = spec, gpus_of(pod)
        return self._gpus[uid][1]


def has_ended(request: Body) -> bool:
    """Returns whether the request has ended."""
    return any(condition(request, kind).get("status") == "True" for kind in ENDS)


def is_part(change: Change) -> bool:
    """Returns whether it is a RayCluster with an owner, or a Job that an operator created."""
    owners = change.body["metadata"].get("ownerReferences", ())
    if change.kind is kinds.BATCH_JOBS:
        return any(owner["kind"] in OPERATED for owner in owners)
    return change.kind is kinds.RAY_CLUSTERS and bool(owners)


def is_queued(job: Body) -> bool:
    """Returns whether Muster manages the job: it is queued, and no other controller owns or manages it."""
    meta = job["metadata"]
    return (
        bool(meta.get("labels", {}).get(QUEUE_LABEL)) and not is_others(job) and "ownerReferences" not in meta
    )


def gpus_of(pod: Body) -> Fraction:
    requests = (c.get("resources", {}).get("requests", {}) for c in pod["spec"]["containers"])
    return sum((quantity(r[GPU]) for r in requests if GPU in r), Fraction(0))


def held_gpus(workload: Body) -> Fraction:
    """Returns the GPUs of the admission; 0 without one: such a Workload may keep its finalizer."""
    if "admission" not in workload.get("status", {}):
        return Fraction(0)
    return sum((n for (_, resource), n in usage_of(workload).items() if resource == GPU), Fraction(0))
