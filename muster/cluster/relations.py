"""The relations between the objects of a cluster, updated incrementally by the keys of changed objects."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from muster.cluster.index import Index
from muster.cluster.jobs.job import Job
from muster.cluster.jobs.raycluster import RayClusterGang
from muster.cluster.jobs.rayjob import RayJobGang
from muster.cluster.jobs.rayservice import RayServiceGang
from muster.cluster.ownership import Owner, creator_of, identity, job_of, owner_of
from muster.cluster.pass_cache import PassCache
from muster.kube.kinds import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES, WORKLOADS, Kind
from muster.objects import kueue
from muster.objects.autoscaling import ProvisioningRequest
from muster.objects.core import Pod
from muster.objects.names import QUEUE_LABEL, WORKLOAD_UID_LABEL
from muster.objects.ray import RayCluster, RayJob, RayService

RELATED = (
    "ray_jobs",
    "ray_clusters",
    "ray_services",
    "workloads",
    "pods",
    "provisioning_requests",
    "pod_templates",
)
"""Fields of ClusterState with objects that affect single Workloads; all others affect many."""

Changed = Mapping[str, Iterable[str]]
"""Keys of objects that may have changed, by field of ClusterState."""
QueueKey = tuple[Kind[Any], str]
"""The kind and the key of a ClusterQueue, a LocalQueue or an AdmissionCheck."""


@dataclass(slots=True)
class Marks:
    """The Workloads, by key, and the jobs that depend on a changed object, and the changed queues and checks.
    `full`: the pass also examines all others, to detect changes that were not marked."""

    workloads: set[str] = field(default_factory=set)
    jobs: set[Owner] = field(default_factory=set)
    queues: set[QueueKey] = field(default_factory=set)
    full: bool = False


class RelatedObjects(Protocol):
    """The objects by key, like in ClusterState, and the cache of their views."""

    @property
    def cache(self) -> PassCache: ...
    @property
    def ray_jobs(self) -> Mapping[str, RayJob]: ...
    @property
    def ray_clusters(self) -> Mapping[str, RayCluster]: ...
    @property
    def ray_services(self) -> Mapping[str, RayService]: ...
    @property
    def workloads(self) -> Mapping[str, kueue.Workload]: ...
    @property
    def pods(self) -> Mapping[str, Pod]: ...
    @property
    def provisioning_requests(self) -> Mapping[str, ProvisioningRequest]: ...


class Relations:
    """Indexes of objects by their owners and other properties."""

    def __init__(self) -> None:
        self.jobs: Index[Owner, Job] = Index(lambda job: (identity(job.kind, job.metadata),))
        self.jobs_with_empty_label: Index[bool, Job] = Index(
            lambda job: (True,) if _has_empty_label(job) else ()
        )
        self.clusters: Index[str, RayClusterGang] = Index(lambda cluster: (cluster.metadata.uid,))
        self.clusters_by_creator: Index[Owner, RayClusterGang] = Index(lambda c: _some(creator_of(c.obj)))
        self.queued_clean_ups: Index[bool, RayClusterGang] = Index(
            lambda c: (True,) if c.cleans_redis_up and c.metadata.labels.get(QUEUE_LABEL) else ()
        )
        self.live_pods: Index[tuple[str, str], Pod] = Index(_workload_of_live_pod)
        self.live_pods_by_cluster: Index[str, Pod] = Index(_controller_of_live_pod)
        self.requests: Index[Owner, ProvisioningRequest] = Index(lambda r: _some(owner_of(r, WORKLOADS)))
        self.workloads: Index[Owner, kueue.Workload] = Index(lambda w: (identity(WORKLOADS, w.metadata),))
        self.workloads_by_job: Index[Owner, kueue.Workload] = Index(lambda w: _some(job_of(w)))
        self.workloads_by_namespace: Index[str, kueue.Workload] = Index(lambda w: (w.metadata.namespace,))
        self.workloads_with_checks: Index[str, kueue.Workload] = Index(_namespace_if_checked)
        self.workloads_by_reservation: Index[str, kueue.Workload] = Index(
            lambda w: (w.status.admission.cluster_queue,) if w.status.admission is not None else ()
        )

    @classmethod
    def of(cls, objects: RelatedObjects) -> "Relations":
        relations = cls()
        relations.update(objects, {name: getattr(objects, name) for name in RELATED})
        return relations

    def update(self, objects: RelatedObjects, changed: Changed) -> Marks:
        """Updates the indexes for the changed objects. Returns marks for everything that depends on them."""
        marks = Marks()
        services = {*changed["ray_services"]}
        for key in changed["ray_clusters"]:
            cluster = objects.ray_clusters.get(key)
            gang = objects.cache.get(RayClusterGang, key, cluster) if cluster is not None else None
            services |= self._put_cluster(key, gang, marks)
        for key in changed["ray_jobs"]:
            job = objects.ray_jobs.get(key)
            view = objects.cache.get(RayJobGang, key, job) if job is not None else None
            self._put_job(RAY_JOBS, key, view, marks)
        for key in services:
            self._put_job(RAY_SERVICES, key, self._service(key, objects), marks)
        for key in changed["workloads"]:
            self._put_workload(key, objects.workloads.get(key), marks)
        for key in changed["pods"]:
            self._put_pod(key, objects.pods.get(key), marks)
        for key in changed["provisioning_requests"]:
            for owner in self.requests.put(key, objects.provisioning_requests.get(key)):
                marks.workloads.update(w.key for w in self.workloads.having(owner))
        for namespace in {key.partition("/")[0] for key in changed["pod_templates"]}:
            marks.workloads.update(w.key for w in self.workloads_with_checks.having(namespace))
        marks.workloads.update(w.key for job in marks.jobs for w in self.workloads_by_job.having(job))
        return marks

    def _put_job(self, kind: Kind[Any], key: str, job: Job | None, marks: Marks) -> None:
        name = f"{kind} {key}"
        marks.jobs.update(self.jobs.put(name, job))
        self.jobs_with_empty_label.put(name, job)

    def _put_cluster(self, key: str, cluster: RayClusterGang | None, marks: Marks) -> set[str]:
        """Returns the keys of the RayServices for which the RayCluster was created, as their views contain
        it."""
        self._put_job(RAY_CLUSTERS, key, cluster, marks)
        self.queued_clean_ups.put(key, cluster)
        creators = self.clusters_by_creator.put(key, cluster)
        marks.jobs.update(creators)
        for uid in self.clusters.put(key, cluster):
            for pod in self.live_pods_by_cluster.having(uid):
                self._mark_pods(_workload_of_live_pod(pod), marks)
        services = (self.jobs.first(creator) for creator in creators if creator.kind == RAY_SERVICES.name)
        return {service.metadata.key for service in services if service is not None}

    def _service(self, key: str, objects: RelatedObjects) -> RayServiceGang | None:
        service = objects.ray_services.get(key)
        if service is None:
            return None
        clusters = self.clusters_by_creator.having(identity(RAY_SERVICES, service.metadata))
        return objects.cache.get(_service_view, key, service, *clusters)

    def _put_workload(self, key: str, workload: kueue.Workload | None, marks: Marks) -> None:
        marks.workloads.add(key)
        marks.jobs.update(self.workloads_by_job.put(key, workload))
        self.workloads.put(key, workload)
        self.workloads_by_namespace.put(key, workload)
        self.workloads_with_checks.put(key, workload)
        self.workloads_by_reservation.put(key, workload)

    def _put_pod(self, key: str, pod: Pod | None, marks: Marks) -> None:
        self._mark_pods(self.live_pods.put(key, pod), marks)
        self.live_pods_by_cluster.put(key, pod)

    def _mark_pods(self, workloads: Iterable[tuple[str, str]], marks: Marks) -> None:
        for namespace, uid in workloads:
            owner = Owner(namespace, WORKLOADS.name, uid)
            marks.workloads.update(w.key for w in self.workloads.having(owner))


def _service_view(service: RayService, *clusters: RayClusterGang) -> RayServiceGang:
    return RayServiceGang(service, clusters)


def _some(owner: Owner | None) -> tuple[Owner, ...]:
    return () if owner is None else (owner,)


def _has_empty_label(job: Job) -> bool:
    """Returns whether the job has an empty queue label and was created by a user, so that it stays
    suspended."""
    return job.metadata.labels.get(QUEUE_LABEL) == "" and job.metadata.controller is None


def _workload_of_live_pod(pod: Pod) -> tuple[tuple[str, str], ...]:
    """Returns the pod's namespace and the Workload UID in its label; empty if it holds no resources."""
    if not pod.holds_resources:
        return ()
    return ((pod.metadata.namespace, pod.metadata.labels.get(WORKLOAD_UID_LABEL, "")),)


def _controller_of_live_pod(pod: Pod) -> tuple[str, ...]:
    creator = pod.metadata.controller
    return (creator.uid,) if creator is not None and pod.holds_resources else ()


def _namespace_if_checked(workload: kueue.Workload) -> tuple[str, ...]:
    return (workload.metadata.namespace,) if workload.status.admission_checks else ()
