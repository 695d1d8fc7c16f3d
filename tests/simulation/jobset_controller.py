"""The JobSet controller by its protocol, and its webhook's rule for changes of a suspended JobSet.

It creates the Jobs of a JobSet with its suspension, adds the placement of the JobSet to Jobs that it resumes
(and removes none), restarts all Jobs after a failure as often as the failure policy allows, and deletes the
Jobs before a restart in the foreground. Left out: rules of failure policies, startup policies, success
policies other than All, Services and volume claims.
Source: JobSet v0.11.0 pkg/controllers/jobset_controller.go, pkg/webhooks/jobset_webhook.go.
"""

import contextlib
from copy import deepcopy
from random import Random

from muster.kube import kinds
from muster.objects.jobset import (
    JOBSET_CONTROLLER,
    JOBSET_NAME_LABEL,
    JOBSET_UID_LABEL,
    REPLICATED_JOB_LABEL,
    RESTART_LABEL,
)
from tests.simulation.api import Api, Body, Refused, key_of
from tests.simulation.job_controller import is_ended
from tests.simulation.operators import owned, owner_uids
from tests.simulation.sweeps import Sweeps

SWEEP_S_MAX = 0.5
BY = "jobset controller"


class JobSetController:
    """Reconciles all JobSets in each sweep."""

    def __init__(self, api: Api, random: Random) -> None:
        self._api = api
        self._sweeps = Sweeps(api, random, SWEEP_S_MAX)

    async def run(self) -> None:
        while True:
            await self._sweeps.next()
            for jobset in self._api.all(kinds.JOB_SETS):
                if "deletionTimestamp" not in jobset["metadata"] and not _manager(jobset):
                    with contextlib.suppress(Refused):
                        self._reconcile(jobset)

    def _reconcile(self, jobset: Body) -> None:
        owned_jobs = [j for j in self._api.all(kinds.BATCH_JOBS) if _uid(jobset) in owner_uids(j)]
        restarts = jobset.get("status", {}).get("restarts", 0)
        jobs = [j for j in owned_jobs if j["metadata"]["labels"][RESTART_LABEL] == str(restarts)]
        jobset = self._report(jobset, {"replicatedJobsStatus": _states(jobset, jobs)})
        if is_over(jobset):
            self._delete([job for job in jobs if not is_ended(job)])
            return
        self._delete([job for job in owned_jobs if job not in jobs])
        if any(_has(job, "Failed") for job in jobs):
            policy = jobset["spec"].get("failurePolicy", {})
            if restarts < policy.get("maxRestarts", 0):
                self._report(jobset, {"restarts": restarts + 1, "restartsCountTowardsMax": restarts + 1})
            else:
                self._conclude(jobset, "Failed")
            return
        expected = sum(r["replicas"] for r in jobset["spec"]["replicatedJobs"])
        if len([job for job in jobs if _has(job, "Complete")]) == expected:
            self._conclude(jobset, "Completed")
            return
        self._create(jobset, {key_of(job) for job in owned_jobs}, restarts)
        suspended = bool(jobset["spec"].get("suspend"))
        for job in jobs:
            if not is_ended(job) and bool(job["spec"].get("suspend")) != suspended:
                self._suspend(job) if suspended else self._resume(jobset, job)
        if suspended or jobset.get("status", {}).get("conditions"):
            condition = {"type": "Suspended", "status": str(suspended)}
            self._report(jobset, {"conditions": [condition]})

    def _create(self, jobset: Body, existing: set[str], restarts: int) -> None:
        meta = jobset["metadata"]
        for replicated in jobset["spec"]["replicatedJobs"]:
            for index in range(replicated["replicas"]):
                key = f"{meta['namespace']}/{meta['name']}-{replicated['name']}-{index}"
                if key in existing:
                    continue
                job: Body = deepcopy(replicated["template"])
                of_template = job.get("metadata", {})
                labels = {
                    JOBSET_NAME_LABEL: meta["name"],
                    JOBSET_UID_LABEL: meta["uid"],
                    REPLICATED_JOB_LABEL: replicated["name"],
                    RESTART_LABEL: str(restarts),
                }
                template = job["spec"]["template"]
                own = template.get("metadata", {})
                template["metadata"] = {**own, "labels": {**own.get("labels", {}), **labels}}
                job["metadata"] = {**of_template, **owned(kinds.JOB_SETS, jobset, key)}
                job["metadata"]["labels"] = {**of_template.get("labels", {}), **labels}
                job["spec"]["suspend"] = bool(jobset["spec"].get("suspend"))
                self._api.create(kinds.BATCH_JOBS, job, BY)

    def _resume(self, jobset: Body, job: Body) -> None:
        if job.get("status", {}).get("startTime"):
            reset = {"metadata": _version(job), "status": {"startTime": None}}
            job = self._api.merge_patch(kinds.BATCH_JOBS, key_of(job), reset, BY, True)
        name = job["metadata"]["labels"][REPLICATED_JOB_LABEL]
        (template,) = [
            r["template"]["spec"]["template"] for r in jobset["spec"]["replicatedJobs"] if r["name"] == name
        ]
        own = job["spec"]["template"]
        tolerations = own["spec"].get("tolerations", [])
        added = [t for t in template["spec"].get("tolerations", []) if t not in tolerations]
        placed = {
            "metadata": {key: template.get("metadata", {}).get(key, {}) for key in ("labels", "annotations")},
            "spec": {
                "nodeSelector": template["spec"].get("nodeSelector", {}),
                "tolerations": [*tolerations, *added],
            },
        }
        patch = {"metadata": _version(job), "spec": {"suspend": False, "template": placed}}
        self._api.merge_patch(kinds.BATCH_JOBS, key_of(job), patch, BY, False)

    def _suspend(self, job: Body) -> None:
        patch = {"metadata": _version(job), "spec": {"suspend": True}}
        self._api.merge_patch(kinds.BATCH_JOBS, key_of(job), patch, BY, False)

    def _delete(self, jobs: list[Body]) -> None:
        for job in jobs:
            if "deletionTimestamp" not in job["metadata"]:
                self._api.delete(kinds.BATCH_JOBS, key_of(job), BY, foreground=True)

    def _conclude(self, jobset: Body, end: str) -> None:
        conditions = [{"type": end, "status": "True", "message": f"jobset {end.lower()}"}]
        self._report(jobset, {"conditions": conditions, "terminalState": end})

    def _report(self, jobset: Body, status: Body) -> Body:
        before = jobset.get("status", {})
        if {**before, **status} == before:
            return jobset
        patch = {"metadata": _version(jobset), "status": status}
        return self._api.merge_patch(kinds.JOB_SETS, key_of(jobset), patch, BY, True)


def is_over(jobset: Body) -> bool:
    return bool(jobset.get("status", {}).get("terminalState"))


def refused_change(old: Body, new: Body) -> str:
    """Returns the webhook's reason to refuse the change: the replicated jobs are immutable, except for labels
    and placement of their pods while the JobSet is or gets suspended."""
    before, after = (body["spec"]["replicatedJobs"] for body in (old, new))
    open_ = bool(old["spec"].get("suspend") or new["spec"].get("suspend"))
    if before == after or (open_ and list(map(_fixed, before)) == list(map(_fixed, after))):
        return ""
    return "spec.replicatedJobs: field is immutable"


def _fixed(replicated: Body) -> Body:
    body: Body = deepcopy(replicated)
    template = body["template"]["spec"]["template"]
    for part, fields in (
        (template.setdefault("metadata", {}), ("labels", "annotations")),
        (template["spec"], ("nodeSelector", "tolerations", "schedulingGates")),
    ):
        for field in fields:
            part.pop(field, None)
    return body


def _states(jobset: Body, jobs: list[Body]) -> list[Body]:
    states: list[Body] = []
    for replicated in jobset["spec"]["replicatedJobs"]:
        own = [j for j in jobs if j["metadata"]["labels"][REPLICATED_JOB_LABEL] == replicated["name"]]
        active = [job for job in own if not is_ended(job)]
        states.append(
            {
                "name": replicated["name"],
                "ready": sum(map(_is_ready, active)),
                "succeeded": sum(_has(job, "Complete") for job in own),
                "failed": sum(_has(job, "Failed") for job in own),
                "active": sum(job.get("status", {}).get("active", 0) > 0 for job in active),
                "suspended": sum(bool(job["spec"].get("suspend")) for job in active),
            }
        )
    return states


def _is_ready(job: Body) -> bool:
    ready = job.get("status", {}).get("ready", 0) + job.get("status", {}).get("succeeded", 0)
    return bool(ready >= job["spec"].get("parallelism", 1))


def _has(job: Body, end: str) -> bool:
    conditions = job.get("status", {}).get("conditions", ())
    return any(c["type"] == end and c["status"] == "True" for c in conditions)


def _manager(jobset: Body) -> str:
    """Returns the controller that reconciles it instead; empty if there is none."""
    manager = str(jobset["spec"].get("managedBy", JOBSET_CONTROLLER))
    return "" if manager == JOBSET_CONTROLLER else manager


def _uid(body: Body) -> str:
    return str(body["metadata"]["uid"])


def _version(body: Body) -> Body:
    return {"resourceVersion": body["metadata"]["resourceVersion"]}
