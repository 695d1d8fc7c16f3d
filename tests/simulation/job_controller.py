"""The Job controller by its protocol, for users' Jobs, those of JobSets and those that KubeRay creates, and
the API server's rule for changes of a Job's template.

It creates the pods of a Job that is not suspended, replaces them once they are gone, or while they terminate
with the podReplacementPolicy TerminatingOrFailed, deletes those of a suspended Job, and reports that once it
has done so. The seed chooses whether a suspension leaves the start time, as before Kubernetes 1.36. With
`completions` one pod ends at a time, else all together. Left out: failures of single pods, indexes,
deadlines.
Source: pkg/controller/job/job_controller.go, pkg/registry/batch/job/strategy.go.
"""

import contextlib
from random import Random
from typing import Any

from muster.kube import kinds
from muster.objects.batch import JOB_NAME_LABEL
from muster.objects.jobset import REPLICATED_JOB_LABEL
from muster.objects.meta import millis, rfc3339
from tests.simulation.api import Api, Body, Refused, key_of
from tests.simulation.kuberay_pods import GROUP_LABEL
from tests.simulation.manifests import OUTCOME, RUN_SECONDS
from tests.simulation.operators import owned, pods_owned_by
from tests.simulation.sweeps import Sweeps

SWEEP_S_MAX = 0.5
BY = "job controller"
MUTABLE = ("labels", "annotations"), ("nodeSelector", "affinity", "tolerations")  # of metadata and spec


class JobController:
    """Reconciles all Jobs in each sweep. Pods of KubeRay's Jobs end when KubeRay says so, those of users'
    Jobs after their run time."""

    def __init__(self, api: Api, random: Random) -> None:
        self._api, self._random = api, random
        self._serial = 0
        self._ended_ms: dict[str, int] = {}  # when a pod of the Job last ended
        self._resets_start_time = random.random() < 0.5

    async def run(self) -> None:
        sweeps, busy = Sweeps(self._api, self._random, SWEEP_S_MAX), False
        while True:
            await sweeps.next(busy=busy)
            busy = False
            for job in self._api.all(kinds.BATCH_JOBS):
                if not is_ended(job) and "deletionTimestamp" not in job["metadata"]:
                    with contextlib.suppress(Refused):
                        busy |= self._reconcile(job)

    def _reconcile(self, job: Body) -> bool:
        """Returns whether the Job runs, so that time alone ends it."""
        pods = pods_owned_by(self._api, job)
        active = [p for p in pods if "deletionTimestamp" not in p["metadata"] and not _has_ended(p)]
        if job["spec"].get("suspend"):
            for pod in active:
                self._api.delete(kinds.PODS, key_of(pod), BY)
            if _is_users(job):
                self._report(job, [], "True")
            return False
        replaced = job["spec"].get("podReplacementPolicy") == "TerminatingOrFailed"
        for _ in range(_pods_due(job) - len(active if replaced else [p for p in pods if not _has_ended(p)])):
            self._make_pod(job)
        if not _is_users(job):
            return False
        for pod in active[_pods_due(job) :]:
            self._api.delete(kinds.PODS, key_of(pod), BY)
        job = self._report(job, active, "False")
        if len(active) == _pods_due(job) and all(_runs(pod) for pod in active):
            self._end_in_time(job, active)
        return True

    def _report(self, job: Body, active: list[Body], suspended: str) -> Body:
        """Reports the state, and the start time of a Job that was resumed."""
        before = job.get("status", {})
        condition = {"type": "Suspended", "status": suspended}
        status: dict[str, Any] = {"active": len(active), "ready": sum(map(_runs, active))}
        if before.get("conditions") != [condition]:
            if suspended == "False":
                status["startTime"] = rfc3339(self._api.now_ms())
            elif self._resets_start_time:
                status["startTime"] = None
        return self._patch(job, {**status, "conditions": [condition]})

    def _end_in_time(self, job: Body, pods: list[Body]) -> None:
        annotations = job["metadata"]["annotations"]
        uid, now_ms = job["metadata"]["uid"], self._api.now_ms()
        since_ms = max(millis(job["status"]["startTime"]), self._ended_ms.get(uid, 0))
        if now_ms - since_ms < float(annotations[RUN_SECONDS]) * 1000:
            return
        succeeds, completions = annotations[OUTCOME] == "SUCCEEDED", job["spec"].get("completions")
        ending = pods[:1] if succeeds and completions else pods
        phase = {"status": {"phase": "Succeeded" if succeeds else "Failed"}}
        for pod in ending:
            self._api.merge_patch(kinds.PODS, key_of(pod), phase, BY, True)
        self._ended_ms[uid] = now_ms
        succeeded = job["status"].get("succeeded", 0) + len(ending) * succeeds
        status: dict[str, Any] = {"active": len(pods) - len(ending), "succeeded": succeeded}
        if not succeeds or succeeded >= (completions or 0):
            kind = "Complete" if succeeds else "Failed"
            status["conditions"] = [{"type": kind, "status": "True", "message": "Job finished"}]
        self._patch(job, {**status, "ready": status["active"]})

    def _patch(self, job: Body, status: Body) -> Body:
        version = {"resourceVersion": job["metadata"]["resourceVersion"]}
        patch = {"metadata": version, "status": status}
        return self._api.merge_patch(kinds.BATCH_JOBS, key_of(job), patch, BY, True)

    def _make_pod(self, job: Body) -> None:
        self._serial += 1
        group = _pod_set(job)
        meta = owned(kinds.BATCH_JOBS, job, f"{key_of(job)}-0-{group}-{self._serial}")
        template = job["spec"]["template"]
        named = {JOB_NAME_LABEL: job["metadata"]["name"]} if _is_users(job) else {}
        meta["labels"] = {GROUP_LABEL: group, **named, **template.get("metadata", {}).get("labels", {})}
        body = {"metadata": meta, "spec": template["spec"], "status": {"phase": "Pending"}}
        self._api.create(kinds.PODS, body, BY)


def is_ended(job: Body) -> bool:
    conditions = job.get("status", {}).get("conditions", ())
    return any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in conditions)


def refused_change(old: Body, new: Body) -> str:
    """Returns the API server's reason to refuse the change: the template is immutable except for its
    placement, which may change while the Job is suspended and has no start time."""
    before, after = old["spec"]["template"], new["spec"]["template"]
    open_ = bool(old["spec"].get("suspend")) and not old.get("status", {}).get("startTime")
    if before == after or (open_ and _without_placement(before) == _without_placement(after)):
        return ""
    return "spec.template: field is immutable"


def _without_placement(template: Body) -> list[Body]:
    of_metadata, of_spec = MUTABLE
    metadata, spec = template.get("metadata", {}), template["spec"]
    return [
        {key: value for key, value in metadata.items() if key not in of_metadata},
        {key: value for key, value in spec.items() if key not in of_spec},
    ]


def _pod_set(job: Body) -> str:
    if not _is_users(job):
        return "submitter"
    return str(job["metadata"].get("labels", {}).get(REPLICATED_JOB_LABEL, "main"))


def _is_users(job: Body) -> bool:
    """Returns whether it is of a user or a JobSet."""
    return RUN_SECONDS in job["metadata"].get("annotations", {})


def _pods_due(job: Body) -> int:
    """Returns the pods that the Job runs now: no more than completions remain."""
    parallelism, completions = (
        int(job["spec"].get(f, d)) for f, d in (("parallelism", 1), ("completions", 0))
    )
    remaining = completions - job.get("status", {}).get("succeeded", 0)
    return min(parallelism, remaining) if completions else parallelism


def _has_ended(pod: Body) -> bool:
    return pod["status"]["phase"] in ("Succeeded", "Failed")


def _runs(pod: Body) -> bool:
    return bool(pod["status"]["phase"] == "Running")
