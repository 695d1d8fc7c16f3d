"""The relations between the objects of a cluster, updated incrementally by the keys of changed objects."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from muster.cluster.index import Index
from muster.cluster.jobs.job import Job
from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.kinds import BY_KIND, JOB_KINDS
from muster.cluster.ownership import Owner, creator_of, identity, job_of, owner_of
from muster.cluster.pass_cache import PassCache
from muster.kube.kinds import POD_TEMPLATES, PODS, PROVISIONING_REQUESTS, WORKLOADS, AnyKind, Kind
from muster.objects import kueue
from muster.objects.autoscaling import ProvisioningRequest
from muster.objects.core import Pod
from muster.objects.meta import Object
from muster.objects.names import QUEUE_LABEL, WORKLOAD_UID_LABEL

T = TypeVar("T", bound=Object)

RELATED: tuple[AnyKind, ...] = (*BY_KIND, WORKLOADS, PODS, PROVISIONING_REQUESTS, POD_TEMPLATES)
"""Kinds of objects that affect single Workloads; all others affect many."""
DEPENDENT_KINDS = tuple(job_kind for job_kind in JOB_KINDS if job_kind.created_by)
OTHER_KINDS = tuple(job_kind for job_kind in JOB_KINDS if not job_kind.created_by)
READERS = frozenset(job_kind.kind.name for job_kind in JOB_KINDS if job_kind.reads_dependents)

Changed = Mapping[AnyKind, Iterable[str]]
"""Keys of objects that may have changed, by kind."""
QueueKey = tuple[AnyKind, str]
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
    """The objects by kind and key, like in ClusterState, and the cache of their views."""

    @property
    def cache(self) -> PassCache:
        """The cache of values derived from objects."""

    def objects(self, kind: Kind[T]) -> Mapping[str, T]:
        """Returns the objects of a kind, by key."""


class Relations:
    """Indexes of objects by their owners and other properties."""

    def __init__(self) -> None:
        self.jobs: Index[Owner, Job] = Index(lambda job: (identity(job.kind, job.metadata),))
        self.jobs_with_empty_label: Index[bool, Job] = Index(
            lambda job: (True,) if _has_empty_label(job) else ()
        )
        # Jobs of kinds that operators create for other jobs, such as RayClusters, whether or not they did.
        self.dependents: Index[str, Job] = Index(_uid_of_dependent)
        self.dependents_by_creator: Index[Owner, Job] = Index(lambda d: _some(creator_of(d)))
        self.queued_clean_ups: Index[bool, Job] = Index(
            lambda d: (True,) if d.cleans_redis_up and d.metadata.labels.get(QUEUE_LABEL) else ()
        )
        self.live_pods: Index[tuple[str, str], Pod] = Index(_workload_of_live_pod)
        self.live_pods_by_creator: Index[str, Pod] = Index(_controller_of_live_pod)
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
        """Returns the relations of all objects."""
        relations = cls()
        relations.update(objects, {kind: objects.objects(kind) for kind in RELATED})
        return relations

    def update(self, objects: RelatedObjects, changed: Changed) -> Marks:
        """Updates the indexes for the changed objects. Returns marks for everything that depends on them."""
        marks = Marks()
        keys = {job_kind.kind: {*changed[job_kind.kind]} for job_kind in OTHER_KINDS}
        for job_kind in DEPENDENT_KINDS:  # first, as they change which others are read again
            for key in changed[job_kind.kind]:
                for reader in self._put_dependent(job_kind, key, objects, marks):
                    keys[reader.kind].add(reader.metadata.key)
        for job_kind in OTHER_KINDS:
            for key in keys[job_kind.kind]:
                self._put_job(job_kind, key, self._view(job_kind, key, objects), marks)
        workloads, pods = objects.objects(WORKLOADS), objects.objects(PODS)
        for key in changed[WORKLOADS]:
            self._put_workload(key, workloads.get(key), marks)
        for key in changed[PODS]:
            self._put_pod(key, pods.get(key), marks)
        for key in changed[PROVISIONING_REQUESTS]:
            for owner in self.requests.put(key, objects.objects(PROVISIONING_REQUESTS).get(key)):
                marks.workloads.update(w.key for w in self.workloads.having(owner))
        for namespace in {key.partition("/")[0] for key in changed[POD_TEMPLATES]}:
            marks.workloads.update(w.key for w in self.workloads_with_checks.having(namespace))
        marks.workloads.update(w.key for job in marks.jobs for w in self.workloads_by_job.having(job))
        return marks

    def _view(self, job_kind: JobKind, key: str, objects: RelatedObjects) -> Job | None:
        obj = objects.objects(job_kind.kind).get(key)
        if obj is None:
            return None
        if not job_kind.reads_dependents:
            return objects.cache.get(job_kind.view, key, obj)
        dependents = self.dependents_by_creator.having(identity(job_kind.kind, obj.metadata))
        return objects.cache.get(job_kind.view, key, obj, *dependents)

    def _put_job(self, job_kind: JobKind, key: str, job: Job | None, marks: Marks) -> None:
        name = f"{job_kind} {key}"
        marks.jobs.update(self.jobs.put(name, job))
        self.jobs_with_empty_label.put(name, job)

    def _put_dependent(
        self, job_kind: JobKind, key: str, objects: RelatedObjects, marks: Marks
    ) -> Iterator[Job]:
        """Yields the jobs whose views contain the dependent, such as the RayService of a RayCluster."""
        dependent, name = self._view(job_kind, key, objects), f"{job_kind} {key}"
        self._put_job(job_kind, key, dependent, marks)
        self.queued_clean_ups.put(name, dependent)
        creators = self.dependents_by_creator.put(name, dependent)
        marks.jobs.update(creators)
        for uid in self.dependents.put(name, dependent):
            for pod in self.live_pods_by_creator.having(uid):
                self._mark_pods(_workload_of_live_pod(pod), marks)
        readers = (self.jobs.first(creator) for creator in creators if creator.kind in READERS)
        yield from (reader for reader in readers if reader is not None)

    def _put_workload(self, key: str, workload: kueue.Workload | None, marks: Marks) -> None:
        marks.workloads.add(key)
        marks.jobs.update(self.workloads_by_job.put(key, workload))
        self.workloads.put(key, workload)
        self.workloads_by_namespace.put(key, workload)
        self.workloads_with_checks.put(key, workload)
        self.workloads_by_reservation.put(key, workload)

    def _put_pod(self, key: str, pod: Pod | None, marks: Marks) -> None:
        self._mark_pods(self.live_pods.put(key, pod), marks)
        self.live_pods_by_creator.put(key, pod)

    def _mark_pods(self, workloads: Iterable[tuple[str, str]], marks: Marks) -> None:
        for namespace, uid in workloads:
            owner = Owner(namespace, WORKLOADS.name, uid)
            marks.workloads.update(w.key for w in self.workloads.having(owner))


def _some(owner: Owner | None) -> tuple[Owner, ...]:
    return () if owner is None else (owner,)


def _uid_of_dependent(job: Job) -> tuple[str, ...]:
    """Returns the UID. Jobs that are not of a JobSet are left out: most are no gang's, and submitters of
    RayJobs are stopped by their pods."""
    is_part = not BY_KIND[job.kind].used_by or creator_of(job) is not None
    return (job.metadata.uid,) if is_part else ()


def _has_empty_label(job: Job) -> bool:
    """Returns whether the job has an empty queue label and was created by a user, so that it stays
    suspended."""
    return job.metadata.labels.get(QUEUE_LABEL) == "" and not job.is_part


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
