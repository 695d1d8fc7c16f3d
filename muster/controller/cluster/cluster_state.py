"""All objects of a pass, with the lookups it needs."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from muster.controller.cluster import ownership
from muster.controller.cluster.ownership import Owner, creator_of, identity, is_pod_of, owner_of
from muster.controller.cluster.pass_cache import PassCache
from muster.controller.cluster.timers import MonotonicTimers
from muster.controller.jobs.job import Job
from muster.controller.jobs.pod_checks import PodChecks, is_new, key_of
from muster.controller.jobs.raycluster import RayClusterGang
from muster.controller.jobs.rayjob import RayJobGang
from muster.controller.jobs.rayservice import RayServiceGang
from muster.controller.jobs.templates import WORKLOAD_UID_LABEL
from muster.kube.kinds import RAY_SERVICES, WORKLOADS
from muster.objects import kueue, kueue_checks, kueue_queues, workload_status
from muster.objects.autoscaling import ProvisioningRequest
from muster.objects.core import Namespace, Pod, PriorityClass, RuntimeClass
from muster.objects.limits import LimitRange
from muster.objects.meta import Object
from muster.objects.ray import RayCluster, RayJob, RayService
from muster.objects.topology import BoundPod, Node, Topology

NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"


@dataclass
class ClusterState:
    """Objects by key (`namespace/name`, or `name` for cluster-scoped kinds)."""

    ray_jobs: Mapping[str, RayJob] = field(default_factory=dict)
    ray_clusters: Mapping[str, RayCluster] = field(default_factory=dict)
    ray_services: Mapping[str, RayService] = field(default_factory=dict)
    workloads: Mapping[str, kueue.Workload] = field(default_factory=dict)
    local_queues: Mapping[str, kueue_queues.LocalQueue] = field(default_factory=dict)
    cluster_queues: Mapping[str, kueue_queues.ClusterQueue] = field(default_factory=dict)
    cohorts: Mapping[str, kueue_queues.Cohort] = field(default_factory=dict)
    flavors: Mapping[str, kueue_queues.ResourceFlavor] = field(default_factory=dict)
    priorities: Mapping[str, kueue_queues.WorkloadPriorityClass] = field(default_factory=dict)
    checks: Mapping[str, kueue_checks.AdmissionCheck] = field(default_factory=dict)
    provisioning_configs: Mapping[str, kueue_checks.ProvisioningRequestConfig] = field(default_factory=dict)
    provisioning_requests: Mapping[str, ProvisioningRequest] = field(default_factory=dict)
    pod_templates: Mapping[str, Object] = field(default_factory=dict)  # those that carry MANAGED_LABEL
    pods: Mapping[str, Pod] = field(default_factory=dict)  # those that carry WORKLOAD_UID_LABEL
    topologies: Mapping[str, Topology] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)  # none unless there is a Topology
    bound_pods: Mapping[str, BoundPod] = field(default_factory=dict)  # of the whole cluster, likewise
    namespaces: Mapping[str, Namespace] = field(default_factory=dict)
    limit_ranges: Mapping[str, LimitRange] = field(default_factory=dict)
    runtime_classes: Mapping[str, RuntimeClass] = field(default_factory=dict)
    pod_priorities: Mapping[str, PriorityClass] = field(default_factory=dict)
    cache: PassCache = field(default_factory=PassCache)  # kept from pass to pass, as are the next two
    timers: MonotonicTimers = field(default_factory=MonotonicTimers)
    pod_checks: PodChecks | None = None  # None: pods are not checked

    @cached_property
    def jobs(self) -> Mapping[str, Job]:
        """Jobs that Muster manages, by UID."""
        return {uid: job for uid, job in self._jobs.items() if job.managed}

    @cached_property
    def _jobs(self) -> Mapping[str, Job]:
        """All jobs by UID, whatever their spec.managedBy."""
        return {job.metadata.uid: job for job in self._job_views()}

    @cached_property
    def _jobs_by_identity(self) -> Mapping[Owner, Job]:
        return {identity(job.kind, job.metadata): job for job in self._jobs.values()}

    @cached_property
    def jobs_with_empty_queue_label(self) -> list[Job]:
        """Jobs that users created: they stay suspended."""
        return [
            job
            for job in self._jobs.values()
            if job.metadata.labels.get(kueue.QUEUE_LABEL) == "" and job.metadata.controller is None
        ]

    def _job_views(self) -> Iterator[Job]:
        yield from (self.cache.get(RayJobGang, obj.key, obj) for obj in self.ray_jobs.values())
        yield from (self.cache.get(RayClusterGang, obj.key, obj) for obj in self.ray_clusters.values())
        for obj in self.ray_services.values():
            clusters = self._clusters_by_creator.get(identity(RAY_SERVICES, obj.metadata), ())
            yield self.cache.get(_service_view, obj.key, obj, *clusters)

    @cached_property
    def _clusters_by_creator(self) -> Mapping[Owner, list[RayClusterGang]]:
        """RayClusters by the RayJob or RayService that they were created for."""
        created: dict[Owner, list[RayClusterGang]] = defaultdict(list)
        for cluster in self.ray_clusters.values():
            owner = creator_of(cluster)
            if owner is not None:
                created[owner].append(self.cache.get(RayClusterGang, cluster.key, cluster))
        return created

    @cached_property
    def workload_of_job(self) -> Mapping[str, kueue.Workload]:
        """Workloads by the UID of the job that controls them."""
        pairs = ((self.job_of(w), w) for w in self.workloads.values())
        return {job.metadata.uid: w for job, w in pairs if job is not None}

    def job_of(self, workload: kueue.Workload) -> Job | None:
        """Returns the job that owns the Workload, in a queue or not: it has to be stopped in either case."""
        owner = self._owner_of(workload)
        return self._jobs_by_identity.get(owner) if owner is not None else None

    def _owner_of(self, workload: kueue.Workload) -> Owner | None:
        return self.cache.get(ownership.job_of, workload.key, workload)

    def local_queue_of(self, workload: kueue.Workload) -> kueue_queues.LocalQueue | None:
        return self.local_queues.get(f"{workload.metadata.namespace}/{workload.spec.queue_name}")

    @cached_property
    def namespace_labels(self) -> Mapping[str, Mapping[str, str]]:
        """Labels by namespace, with the name label that every namespace has, even before it is observed."""
        seen: dict[str, Mapping[str, str]] = {w.metadata.namespace: {} for w in self.workloads.values()}
        labels = seen | {n.metadata.name: n.metadata.labels for n in self.namespaces.values()}
        return {name: {NAMESPACE_NAME_LABEL: name, **of} for name, of in labels.items()}

    @cached_property
    def _limit_ranges_by_namespace(self) -> Mapping[str, tuple[LimitRange, ...]]:
        found: dict[str, list[LimitRange]] = defaultdict(list)
        for key in sorted(self.limit_ranges):
            found[self.limit_ranges[key].metadata.namespace].append(self.limit_ranges[key])
        return {namespace: tuple(ranges) for namespace, ranges in found.items()}

    def limit_ranges_of(self, workload: kueue.Workload) -> tuple[LimitRange, ...]:
        """Returns those of its namespace, by name."""
        return self._limit_ranges_by_namespace.get(workload.metadata.namespace, ())

    @cached_property
    def _live_pods(self) -> Mapping[tuple[str, str], list[Pod]]:
        """Pods by namespace and the Workload UID in their label."""
        live: dict[tuple[str, str], list[Pod]] = defaultdict(list)
        for pod in self.pods.values():
            if pod.holds_resources:
                uid = pod.metadata.labels.get(WORKLOAD_UID_LABEL, "")
                live[pod.metadata.namespace, uid].append(pod)
        return live

    def live_pods_of(self, workload: kueue.Workload) -> Sequence[Pod]:
        """Returns the pods of the gang that hold resources."""
        labelled = self._live_pods.get((workload.metadata.namespace, workload.metadata.uid), ())
        return [pod for pod in labelled if is_pod_of(pod, workload)]

    def pod_refusal(self, workload: kueue.Workload, job: Job) -> str | None:
        """Returns why the API server refuses the gang's pods; empty: it does not. None: not known yet, and
        the gang has to wait for the answer."""
        if self.pod_checks is None:
            return ""
        answer = self.pod_checks.answer(self.cache.get(key_of, workload.key, job), job)
        return "" if answer is None and not is_new(workload) else answer

    @cached_property
    def _clusters_by_uid(self) -> Mapping[str, RayClusterGang]:
        return {c.metadata.uid: c for c in self._jobs.values() if isinstance(c, RayClusterGang)}

    def ray_clusters_of(self, workload: kueue.Workload) -> list[RayClusterGang]:
        """Returns RayClusters that create the gang's pods, without the job itself: those that KubeRay created
        for the job, and those that its live pods belong to, as a tenant may edit owner references of
        RayClusters."""
        job = self._owner_of(workload)
        found = {c.metadata.uid: c for c in self._clusters_by_creator.get(job, ())} if job else {}
        for pod in self.live_pods_of(workload):
            creator = pod.metadata.controller
            if creator is not None and creator.uid in self._clusters_by_uid:
                found[creator.uid] = self._clusters_by_uid[creator.uid]
        if job is not None:
            found.pop(job.uid, None)
        return [c for c in found.values() if c.metadata.namespace == workload.metadata.namespace]

    @cached_property
    def finished_with_quota(self) -> Mapping[str, kueue.Workload]:
        """Finished Workloads that still hold their quota, by key."""
        return {
            key: w
            for key, w in self.workloads.items()
            if workload_status.is_finished(w.status) and self.counts_against_quota(w)
        }

    def counts_against_quota(self, workload: kueue.Workload) -> bool:
        """Whether its pods count, by what is persisted: those of a finished one until they are gone and its
        finalizer is removed."""
        status = workload.status
        if not workload_status.holds_quota(status) or not workload_status.is_finished(status):
            return workload_status.holds_quota(status)
        clusters = (c for c in self.ray_clusters_of(workload) if not c.metadata.deletion_timestamp)
        runs = bool(self.live_pods_of(workload)) or not all(c.suspended for c in clusters)
        return runs or kueue.RESOURCE_IN_USE in workload.metadata.finalizers

    @cached_property
    def deleted_queues(self) -> Mapping[str, frozenset[str]]:
        """ClusterQueues that were deleted while gangs hold their quota, each with the flavors of that
        quota."""
        found: dict[str, frozenset[str]] = {}
        for workload in self.workloads.values():
            held = workload.status.admission
            deleted = held is not None and held.cluster_queue not in self.cluster_queues
            if held is not None and deleted and self.counts_against_quota(workload):
                flavors = {f for assigned in held.pod_set_assignments for f in assigned.flavors.values()}
                found[held.cluster_queue] = found.get(held.cluster_queue, frozenset()) | flavors
        return found

    @cached_property
    def _requests_by_owner(self) -> Mapping[Owner, list[ProvisioningRequest]]:
        owned: dict[Owner, list[ProvisioningRequest]] = defaultdict(list)
        for request in self.provisioning_requests.values():
            owner = owner_of(request, WORKLOADS)
            if owner is not None:
                owned[owner].append(request)
        return owned

    def requests_of(self, workload: kueue.Workload) -> list[ProvisioningRequest]:
        return self._requests_by_owner.get(identity(WORKLOADS, workload.metadata), [])


def _service_view(obj: RayService, *clusters: RayClusterGang) -> RayServiceGang:
    return RayServiceGang(obj, clusters)
