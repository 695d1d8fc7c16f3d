"""KubeRay by its protocol: suspend and resume of RayJobs and RayClusters, as in v1.6.2
(RayServices: ray_services.py).

It reads, waits a moment and writes, so that others may write in between; a status written on a stale
version is refused and retried. Left out: services, deadlines.
Source: ray-operator/controllers/ray/{rayjob,raycluster}_controller.go.
"""

import contextlib
from collections.abc import Mapping
from functools import cache
from random import Random
from typing import Any

import msgspec
import yaml

from muster.cluster.jobs.raycluster import RayClusterGang
from muster.cluster.jobs.rayjob import RayJobGang
from muster.kube import kinds
from muster.objects.meta import millis, rfc3339
from muster.objects.ray import CLUSTER_LABEL, KUBERAY_OPERATOR, ORIGIN_LABEL
from tests.simulation.api import Api, Body, Refused, key_of
from tests.simulation.kuberay_pods import (
    GROUP_LABEL,
    REDIS_FINALIZER,
    as_created,
    is_fault_tolerant,
    is_gated,
    redis_cleanup_job,
    scaled_counts,
    with_submitter,
)
from tests.simulation.manifests import OUTCOME, RUN_SECONDS
from tests.simulation.operators import BY, Operator, owned, pods_owned_by

FINALIZER = "ray.io/rayjob-finalizer"
CLEANUP_SECONDS_MAX = 300  # after which KubeRay gives up
PODS_MAX = 200  # of a scaled group


class KubeRay(Operator):
    def __init__(self, api: Api, random: Random) -> None:
        super().__init__(api, random)
        self.cleanup_seconds = 10.0  # from a RayCluster's deletion to the end of its Redis clean-up
        self._jobs = {
            "": self._new,
            "Initializing": self._initializing,
            "Running": self._running,
            "Suspending": self._suspending,
            "Suspended": self._suspended,
            "Retrying": self._retrying,
            "Complete": self._finished,
            "Failed": self._finished,
        }

    async def run(self) -> None:
        while True:
            await self._pause()
            for key in list(self._api.objects[kinds.RAY_JOBS]):
                with contextlib.suppress(Refused):
                    await self._reconcile_job(self._api.get(kinds.RAY_JOBS, key))
            for key in list(self._api.objects[kinds.RAY_CLUSTERS]):
                with contextlib.suppress(Refused):
                    await self._reconcile_cluster(self._api.get(kinds.RAY_CLUSTERS, key))

    async def _reconcile_job(self, job: Body) -> None:
        meta, state = job["metadata"], state_of(job)
        if is_others(job):
            return
        fault = spec_fault(job["spec"])
        if "deletionTimestamp" in meta:
            self._let_go(kinds.RAY_JOBS, job, FINALIZER)
        elif fault:
            self._tell_job(job, "ValidationFailed", message=fault)
        elif state in self._jobs and not self._rests(job, state):
            await self._think()
            await self._jobs[state](job)

    def _rests(self, job: Body, state: str) -> bool:
        """Returns whether a quick check finds nothing to do for it."""
        if state in ("Complete", "Failed"):
            return self._api.find(kinds.RAY_CLUSTERS, _child_key(job)) is None
        return state == "Suspended" and bool(job["spec"]["suspend"])

    async def _new(self, job: Body) -> None:
        job = self._keep(kinds.RAY_JOBS, job, FINALIZER)
        name = self._new_name(job)
        self._tell_job(job, "Initializing", rayClusterName=name, jobId=name)

    async def _initializing(self, job: Body) -> None:
        if job["spec"]["suspend"]:
            self._tell_job(job, "Suspending")
            return
        key = _child_key(job)
        cluster = self._api.find(kinds.RAY_CLUSTERS, key)
        if cluster is None:
            labels = {**job["metadata"]["labels"], ORIGIN_LABEL: kinds.RAY_JOBS.name}
            meta = {**owned(kinds.RAY_JOBS, job, key), "labels": labels}
            spec = {**job["spec"]["rayClusterSpec"], "suspend": False}
            if job["spec"]["submissionMode"] == "SidecarMode":
                spec = with_submitter(spec)
            self._api.create(kinds.RAY_CLUSTERS, {"metadata": meta, "spec": spec}, BY)
        elif cluster.get("status", {}).get("state") == "ready":
            await self._submit(job)
            self._tell_job(job, "Running", startTime=rfc3339(self._api.now_ms()), started=self._api.now_ms())

    async def _submit(self, job: Body) -> None:
        """Creates the submitter's Job of the same name; its pod belongs to the Job."""
        gang = RayJobGang(self._api.view(kinds.RAY_JOBS, job))  # type: ignore[arg-type]  # the kind's view
        key = key_of(job)
        place = next((p for p in gang.pod_set_templates if p.pod_set == "submitter"), None)
        if place is not None and self._api.find(kinds.BATCH_JOBS, key) is None:
            # Muster writes the template into the job when it starts it; otherwise KubeRay's default applies
            template = job["spec"].get("submitterPodTemplate") or msgspec.json.decode(place.template)
            meta = owned(kinds.RAY_JOBS, job, key)
            self._api.create(kinds.BATCH_JOBS, {"metadata": meta, "spec": {"template": template}}, BY)
            await self._think()

    async def _running(self, job: Body) -> None:
        if job["spec"]["suspend"]:
            self._tell_job(job, "Suspending")
            return
        annotations = job["metadata"]["annotations"]
        if self._api.now_ms() >= job["status"]["started"] + float(annotations[RUN_SECONDS]) * 1000:
            self._complete(key_of(job))
            outcome, failed = annotations[OUTCOME], job["status"].get("failed", 0) + 1
            if outcome != "SUCCEEDED" and failed <= job["spec"].get("backoffLimit", 0):
                self._tell_job(job, "Retrying", jobStatus=outcome, failed=failed)
                return
            state = "Complete" if outcome == "SUCCEEDED" else "Failed"
            end = {"ended": self._api.now_ms(), "endTime": rfc3339(self._api.now_ms())}
            self._tell_job(job, state, jobStatus=outcome, message="Job finished", **end)

    def _complete(self, key: str) -> None:
        """Ends the pods of a Job, as their containers do, and the Job, as the Job controller does: KubeRay
        waits for both (checkSubmitterAndUpdateStatusIfNeeded; rayClusterReconcile for the clean-up)."""
        job = self._api.find(kinds.BATCH_JOBS, key)
        for pod in pods_owned_by(self._api, job):
            self._patch(kinds.PODS, pod, {"status": {"phase": "Succeeded"}}, status=True)
        if job is not None:
            complete = {"type": "Complete", "status": "True"}
            self._patch(kinds.BATCH_JOBS, job, {"status": {"conditions": [complete]}}, status=True)

    async def _suspending(self, job: Body) -> None:
        """Reports Suspended as soon as the RayCluster is deleted; its pods exist a while longer."""
        self._end_attempt(job, "Suspended")

    async def _retrying(self, job: Body) -> None:
        """Starts the next attempt as soon as the RayCluster is deleted."""
        self._end_attempt(job, "")

    def _end_attempt(self, job: Body, state: str) -> None:
        cluster = self._delete(kinds.RAY_CLUSTERS, _child_key(job))
        if self._delete(kinds.BATCH_JOBS, key_of(job)) or cluster:
            return
        reset = dict.fromkeys(("rayClusterName", "jobId", "startTime", "started", "jobStatus", "message"))
        self._tell_job(job, state, **reset)

    async def _suspended(self, job: Body) -> None:
        if not job["spec"]["suspend"]:
            self._tell_job(job, "")

    async def _finished(self, job: Body) -> None:
        ttl_ms = job["spec"].get("ttlSecondsAfterFinished", 0) * 1000
        if self._api.now_ms() >= job["status"]["ended"] + ttl_ms:
            self._delete(kinds.RAY_CLUSTERS, _child_key(job))

    async def _reconcile_cluster(self, cluster: Body) -> None:
        if is_others(cluster) or groups_fault(cluster["spec"]):
            return
        if is_fault_tolerant(cluster) and "deletionTimestamp" not in cluster["metadata"]:
            cluster = self._keep(kinds.RAY_CLUSTERS, cluster, REDIS_FINALIZER)
        if "deletionTimestamp" in cluster["metadata"]:
            await self._clean_redis_up(cluster)
            return
        suspend = bool(cluster["spec"].get("suspend"))
        stage = _suspend_stage(cluster)
        if self._is_steady(cluster, suspend, stage):
            return
        await self._think()
        if stage == "Suspending":
            for pod in self._pods_of(cluster):
                self._delete(kinds.PODS, key_of(pod))
        elif stage != "Suspended" and not suspend:
            await self._make_pods(cluster)
        self._tell_cluster(cluster, suspend, stage)

    async def _clean_redis_up(self, cluster: Body) -> None:
        """Runs the clean-up's Job after the head is deleted, whether the cluster ever ran or not."""
        if REDIS_FINALIZER not in cluster["metadata"].get("finalizers", ()):
            return
        await self._think()
        pods = self._pods_of(cluster)
        for pod in pods:
            self._delete(kinds.PODS, key_of(pod))
        if any(pod["metadata"]["labels"].get(GROUP_LABEL) == "head" for pod in pods):
            return
        key = f"{key_of(cluster)}-redis-cleanup"
        job = self._api.find(kinds.BATCH_JOBS, key)
        stopped = job is not None and job["spec"].get("suspend")
        age_s = (self._api.now_ms() - millis(cluster["metadata"]["deletionTimestamp"])) / 1000
        if age_s < CLEANUP_SECONDS_MAX and job is None:
            self._api.create(kinds.BATCH_JOBS, redis_cleanup_job(cluster), BY)
        elif age_s >= (CLEANUP_SECONDS_MAX if stopped else min(self.cleanup_seconds, CLEANUP_SECONDS_MAX)):
            self._complete(key)
            self._let_go(kinds.RAY_CLUSTERS, cluster, REDIS_FINALIZER)

    def _is_steady(self, cluster: Body, suspend: bool, stage: str) -> bool:
        pods, state = self._pods_of(cluster), cluster.get("status", {}).get("state")
        if suspend:
            return stage == "Suspended" and state == "suspended" and not pods
        running = all(p["status"]["phase"] == "Running" for p in pods if not is_gated(p))
        named = any(g.get("scaleStrategy") for g in cluster["spec"]["workerGroupSpecs"])
        return (
            not stage
            and state == "ready"
            and running
            and not named
            and len(pods) == self._pods_wanted(cluster)
        )

    async def _make_pods(self, cluster: Body) -> None:
        """Creates pods one by one from the object as read, without noticing changes meanwhile."""
        counts = scaled_counts(cluster["spec"])
        self._delete_named(cluster, counts)
        for place in self._gang(cluster).pod_set_templates:
            template = msgspec.json.decode(place.template)
            missing = counts.get(place.pod_set, place.count) - self._alive(cluster, place.pod_set, counts)
            for index in range(PODS_MAX if place.pod_set in counts else place.count):
                key = f"{key_of(cluster)}-{place.pod_set}-{index}"
                if missing > 0 and self._api.find(kinds.PODS, key) is None:
                    missing -= 1
                    meta = owned(kinds.RAY_CLUSTERS, cluster, key)
                    meta["labels"] = {CLUSTER_LABEL: cluster["metadata"]["name"]}
                    created = as_created(cluster["spec"], place.pod_set, template)
                    self._create_pod(meta, created, place.pod_set)
                    await self._think()

    def _delete_named(self, cluster: Body, counts: Mapping[str, int]) -> None:
        """Deletes the workers that the autoscaler has chosen; of a scaled group, KubeRay chooses none
        (reconcilePods)."""
        for group in cluster["spec"]["workerGroupSpecs"]:
            for name in group.get("scaleStrategy", {}).get("workersToDelete", ()):
                key = f"{cluster['metadata']['namespace']}/{name}"
                pod = self._api.find(kinds.PODS, key)
                if counts and pod is not None and "deletionTimestamp" not in pod["metadata"]:
                    self._api.delete(kinds.PODS, key, BY)

    def _alive(self, cluster: Body, group: str, counts: Mapping[str, int]) -> int:
        """Returns the pods of a scaled group that are not being deleted; those of others have fixed names."""
        pods = self._pods_of(cluster) if group in counts else []
        of_group = (p for p in pods if p["metadata"]["labels"].get(GROUP_LABEL) == group)
        return sum("deletionTimestamp" not in pod["metadata"] for pod in of_group)

    def make_pods_twice(self, cluster: Body) -> None:
        """Creates the pods a second time, as if its cache had missed the first ones (ExpectationsTimeout)."""
        for place in self._gang(cluster).pod_set_templates:
            for index in range(place.count):
                key = f"{key_of(cluster)}-{place.pod_set}-again{index}"
                meta = owned(kinds.RAY_CLUSTERS, cluster, key)
                meta["labels"] = {CLUSTER_LABEL: cluster["metadata"]["name"]}
                self._create_pod(meta, msgspec.json.decode(place.template), place.pod_set)

    def _create_pod(self, meta: Body, template: Body, group: str) -> None:
        labels = {**template.get("metadata", {}).get("labels", {}), **meta.get("labels", {})}
        meta = {**meta, "labels": {**labels, GROUP_LABEL: group}}
        body = {"metadata": meta, "spec": template["spec"], "status": {"phase": "Pending"}}
        self._api.create(kinds.PODS, body, BY)

    def _tell_cluster(self, cluster: Body, suspend: bool, stage: str) -> None:
        pods = self._pods_of(cluster)
        state = cluster.get("status", {}).get("state", "")
        if suspend and not pods:
            state = "suspended"
        elif pods and all(p["status"]["phase"] == "Running" for p in pods if not is_gated(p)):
            state = "ready" if len(pods) == self._pods_wanted(cluster) else state
        if stage == "Suspending":
            stage = "Suspended" if not pods else stage
        elif stage == "Suspended":
            stage = stage if suspend else ""
        else:
            stage = "Suspending" if suspend else ""
        conditions = [
            {"type": f"RayCluster{s}", "status": str(s == stage)} for s in ("Suspending", "Suspended")
        ]
        status = {"state": state, "conditions": conditions}
        self._patch(kinds.RAY_CLUSTERS, cluster, {"status": status}, status=True)

    def _pods_of(self, cluster: Body) -> list[Body]:
        return pods_owned_by(self._api, cluster)

    def _gang(self, cluster: Body) -> RayClusterGang:
        return RayClusterGang(self._api.view(kinds.RAY_CLUSTERS, cluster))  # type: ignore[arg-type]  # its view

    def _pods_wanted(self, cluster: Body) -> int:
        counts = scaled_counts(cluster["spec"])
        return sum(counts.get(p.pod_set, p.count) for p in self._gang(cluster).pod_set_templates)

    def _tell_job(self, job: Body, state: str, **fields: Any) -> None:
        status = {"jobDeploymentStatus": state, **fields}
        self._patch(kinds.RAY_JOBS, job, {"status": status}, status=True)


def state_of(job: Body) -> str:
    return str(job.get("status", {}).get("jobDeploymentStatus", ""))


def _suspend_stage(cluster: Body) -> str:
    conditions = cluster.get("status", {}).get("conditions", [])
    return next((c["type"].removeprefix("RayCluster") for c in conditions if c["status"] == "True"), "")


def _child_key(job: Body) -> str:
    return f"{job['metadata']['namespace']}/{job['status']['rayClusterName']}"


def is_others(body: Body) -> bool:
    """Returns whether another controller manages it (ManagedByExternalController)."""
    return bool(body["spec"].get("managedBy", KUBERAY_OPERATOR) != KUBERAY_OPERATOR)


def spec_fault(spec: Body) -> str:
    """Returns KubeRay's reason to refuse a RayJob, in short (utils/validation.go: ValidateRayJobSpec)."""
    if spec["suspend"] and not spec["shutdownAfterJobFinishes"]:
        return "not allowed to be suspended"
    if spec.get("backoffLimit", 0) < 0:
        return "backoffLimit must be a positive integer"
    if not _is_yaml(spec.get("runtimeEnvYAML", "")):
        return "failed to unmarshal runtimeEnvYAML"
    return groups_fault(spec["rayClusterSpec"])


@cache
def _is_yaml(text: str) -> bool:
    try:
        yaml.safe_load(text)
    except yaml.YAMLError:
        return False
    return True


def groups_fault(spec: Body) -> str:
    """Returns the reason of ValidateRayClusterSpec."""
    for group in spec["workerGroupSpecs"]:
        if not 0 <= group["minReplicas"] <= group["maxReplicas"]:
            return f"worker group {group['groupName']} has minReplicas greater than maxReplicas"
    return ""
