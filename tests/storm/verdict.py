"""Judges the record of a storm: every revision of its objects, and the end of each job."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from muster.kube import kinds
from muster.kube.kinds import Kind
from sandbox.cluster.kinds import Object, is_true
from tests.simulation.api import key_of
from tests.simulation.invariants import Broken
from tests.storm.recorder import Event
from tests.storm.replay import Outage, Replay

ENDED = ("Complete", "Failed")
DETAILED_MAX = 3  # violations that list what uses the quota


class Verdict(NamedTuple):
    """Violations, one sentence each; the jobs that KubeRay's requeue may delay; and the number of unchecked
    pods, by how KubeRay created them."""

    violations: list[str]
    delayed_jobs: set[str]
    unchecked_pods: Mapping[str, int]


def judge(
    events: Iterable[Event],
    queues: Iterable[tuple[Kind[Any], Object]],
    outages: Sequence[Outage] = (),
) -> Verdict:
    """Returns `revision: violation` for every revision that violates an invariant, and the delayed jobs:
    those for which KubeRay created a pod again after an outage had lost its answer."""
    replay = Replay(queues, outages)
    violations: list[str] = []
    jobs: dict[str, str] = {}  # by the UID of their RayCluster
    for event in events:
        meta = event.body["metadata"]
        if event.kind is kinds.RAY_CLUSTERS and meta.get("ownerReferences"):
            jobs[meta["uid"]] = f"{meta['namespace']}/{meta['ownerReferences'][0].get('name', '')}"
        try:
            replay.take(event)
        except Broken as wrong:
            details = replay.holders() if len(violations) < DETAILED_MAX else []
            violations.append("\n    ".join([f"revision {event.revision}: {wrong}", *details]))
    violations += [
        f"KubeRay created {creation}, and it was never deleted" for creation in replay.undeleted.values()
    ]
    delayed_jobs = {jobs[group.cluster_uid] for group in replay.repeated if group.cluster_uid in jobs}
    return Verdict(violations, delayed_jobs, replay.unchecked_pods())


def unended(jobs: Iterable[Object]) -> dict[str, str]:
    """Returns the states of jobs that have not ended."""
    states = {key_of(j): (j.get("status") or {}).get("jobDeploymentStatus", "") for j in jobs}
    return {key: state or "not started" for key, state in states.items() if state not in ENDED}


def overdue(late: Mapping[str, str], too_late: Mapping[str, str], delayed_jobs: set[str]) -> list[str]:
    """Returns the jobs that had not ended in time; delayed ones have more time than the others."""
    return [
        f"{key} is {state}"
        for key, state in {**late, **too_late}.items()
        if key in too_late or key not in delayed_jobs
    ]


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


def several_workloads(events: Iterable[Event]) -> list[str]:
    """Returns the jobs that had several Workloads at a time."""
    live: dict[str, set[str]] = defaultdict(set)  # by the UID of their job
    several: dict[str, str] = {}
    for event in events:
        meta = event.body["metadata"]
        owners = meta.get("ownerReferences") or ()
        if event.kind is not kinds.WORKLOADS or not owners:
            continue
        of_job, uid = live[owners[0]["uid"]], meta["uid"]
        if event.type == "DELETED" or "deletionTimestamp" in meta:
            of_job.discard(uid)
        else:
            of_job.add(uid)
        if len(of_job) > 1:
            several[owners[0]["uid"]] = (
                f"revision {event.revision}: {owners[0].get('name')} has several Workloads"
            )
    return list(several.values())


def preempted(events: Iterable[Event]) -> set[str]:
    """Returns the UIDs of Workloads that were preempted."""
    return {
        event.body["metadata"]["uid"]
        for event in events
        if event.kind is kinds.WORKLOADS and is_true(event.body, "Preempted")
    }


def failures(jobs: Iterable[Object]) -> list[str]:
    """Returns the jobs that have ended without success, with KubeRay's reason."""
    statuses = {key_of(job): job.get("status") or {} for job in jobs}
    return [
        f"{key} failed: {status.get('reason') or status.get('message') or 'without a reason'}"
        for key, status in statuses.items()
        if status.get("jobDeploymentStatus") in ENDED and status.get("jobStatus") != "SUCCEEDED"
    ]


def outcomes(jobs: Iterable[Object]) -> str:
    """Returns the numbers of jobs by the status that Ray reported: `3 SUCCEEDED, 1 FAILED`."""
    counted = Counter((job.get("status") or {}).get("jobStatus") or "without a status" for job in jobs)
    return ", ".join(f"{count} {status}" for status, count in counted.most_common())
