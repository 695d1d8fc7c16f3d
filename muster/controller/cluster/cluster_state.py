"""All objects of a pass, with the lookups it needs."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from muster.controller.cluster import ownership
from muster.controller.cluster.ownership import Owner, identity, owner_of
from muster.controller.cluster.pass_cache import PassCache
from muster.controller.cluster.relations import Marks, Relations
from muster.controller.cluster.timers import MonotonicTimers
from muster.controller.jobs.job import Job
from muster.controller.jobs.pod_checks import PodChecks, is_new, key_of
from muster.controller.jobs.raycluster import RayClusterGang
from muster.kube.kinds import WORKLOADS
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
    claim_templates: Mapping[str, Object] = field(default_factory=dict)
    cache: PassCache = field(default_factory=PassCache)  # kept from pass to pass, as are the next two
    timers: MonotonicTimers = field(default_factory=MonotonicTimers)
    pod_checks: PodChecks | None = None  # None: pods are not checked
    relations: Relations | None = None  # of these objects, if they are kept from pass to pass
    marks: Marks | None = None  # what changed since the last pass; None: anything

    @cached_property
    def _related(self) -> Relations:
        return self.relations or Relations.of(self)

    @property
    def jobs_with_empty_queue_label(self) -> list[Job]:
        """Jobs that users created: they stay suspended."""
        return self._related.jobs_with_empty_label.having(True)

    @property
    def job_identities(self) -> Collection[Owner]:
        """All jobs, whatever their spec.managedBy."""
        return self._related.jobs.values

    def job(self, owner: Owner) -> Job | None:
        """Returns the job with this identity, in a queue or not."""
        return self._related.jobs.first(owner)

    def workload_of(self, job: Job) -> kueue.Workload | None:
        """Returns the Workload that the job controls."""
        return self._related.workloads_by_job.first(identity(job.kind, job.metadata))

    def job_of(self, workload: kueue.Workload) -> Job | None:
        """Returns the job that owns the Workload, in a queue or not: it has to be stopped in either case."""
        owner = ownership.job_of(workload)
        return self.job(owner) if owner is not None else None

    def local_queue_of(self, workload: kueue.Workload) -> kueue_queues.LocalQueue | None:
        return self.local_queues.get(f"{workload.metadata.namespace}/{workload.spec.queue_name}")

    def cluster_queue_of(self, workload: kueue.Workload) -> str | None:
        """Returns the ClusterQueue that its LocalQueue names; None without a LocalQueue."""
        local = self.local_queue_of(workload)
        return local.spec.cluster_queue if local is not None else None

    @cached_property
    def local_queue_names(self) -> Mapping[str, Sequence[str]]:
        """The sorted names of LocalQueues by namespace."""
        names = defaultdict[str, list[str]](list)
        for key in sorted(self.local_queues):
            namespace, _, name = key.partition("/")
            names[namespace].append(name)
        return names

    @cached_property
    def namespace_labels(self) -> Mapping[str, Mapping[str, str]]:
        """Labels by namespace, with the name label that every namespace has, even before it is observed."""
        observed = {
            name: {NAMESPACE_NAME_LABEL: name, **namespace.metadata.labels}
            for name, namespace in self.namespaces.items()
        }
        return observed | {name: {NAMESPACE_NAME_LABEL: name} for name in self.unobserved_namespaces}

    @cached_property
    def unobserved_namespaces(self) -> frozenset[str]:
        """Namespaces of Workloads that were created a moment ago."""
        return frozenset(self._related.workloads_by_namespace.values - self.namespaces.keys())

    @cached_property
    def _limit_ranges_by_namespace(self) -> Mapping[str, tuple[LimitRange, ...]]:
        found: dict[str, list[LimitRange]] = defaultdict(list)
        for key in sorted(self.limit_ranges):
            found[self.limit_ranges[key].metadata.namespace].append(self.limit_ranges[key])
        return {namespace: tuple(ranges) for namespace, ranges in found.items()}

    def limit_ranges_of(self, workload: kueue.Workload) -> tuple[LimitRange, ...]:
        """Returns those of its namespace, by name."""
        return self._limit_ranges_by_namespace.get(workload.metadata.namespace, ())

    def live_pods_of(self, workload: kueue.Workload) -> Sequence[Pod]:
        """Returns the pods of the gang that hold resources, by their label alone (ownership.py)."""
        return self._related.live_pods.having((workload.metadata.namespace, workload.metadata.uid))

    def pod_refusal(self, workload: kueue.Workload, job: Job) -> str | None:
        """Returns why the API server refuses the gang's pods; empty: it does not. None: not known yet, and
        the gang has to wait for the answer."""
        answer = self.latest_pod_refusal(workload.key, job)
        return "" if answer is None and not is_new(workload) else answer

    def latest_pod_refusal(self, key: str, job: Job) -> str | None:
        """Returns the API server's last answer on the pods of a job whose Workload has this key, now or
        soon, in the form of `pod_refusal`; asks for one."""
        if self.pod_checks is None:
            return ""
        return self.pod_checks.refusal(self.cache.get(key_of, key, job), job, key)

    def ray_clusters_of(self, workload: kueue.Workload) -> list[RayClusterGang]:
        """Returns RayClusters that create the gang's pods, without the job itself: those that KubeRay created
        for the job, and those that its live pods belong to, as a tenant may edit owner references of
        RayClusters."""
        job = ownership.job_of(workload)
        found = {c.metadata.uid: c for c in self._related.clusters_by_creator.having(job)} if job else {}
        for pod in self.live_pods_of(workload):
            creator = pod.metadata.controller
            cluster = self._related.clusters.first(creator.uid) if creator is not None else None
            if cluster is not None:
                found[cluster.metadata.uid] = cluster
        if job is not None:
            found.pop(job.uid, None)
        return [c for c in found.values() if c.metadata.namespace == workload.metadata.namespace]

    def clean_ups_without_workload(self) -> list[RayClusterGang]:
        """Returns RayClusters in queues that KubeRay cleans Redis up for, and whose gang has no Workload."""
        found = ((c, ownership.creator_of(c.obj)) for c in self._related.queued_clean_ups.having(True))
        jobs = ((c, creator or identity(c.kind, c.metadata)) for c, creator in found)
        return [c for c, job in jobs if self._related.workloads_by_job.first(job) is None]

    def counts_against_quota(self, workload: kueue.Workload) -> bool:
        """Returns whether its pods count, by what is persisted: those of a finished one until they are gone
        and its finalizer is removed."""
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
        reservations = self._related.workloads_by_reservation
        for queue in reservations.values - self.cluster_queues.keys():
            held = [w.status.admission for w in reservations.having(queue) if self.counts_against_quota(w)]
            assigned = (
                pod_set for admission in held if admission for pod_set in admission.pod_set_assignments
            )
            if held:
                found[queue] = frozenset(flavor for of in assigned for flavor in of.flavors.values())
        return found

    def requester_of(self, request: ProvisioningRequest) -> kueue.Workload | None:
        """Returns the Workload that the request was created for."""
        owner = owner_of(request, WORKLOADS)
        return self._related.workloads.first(owner) if owner is not None else None

    def requests_of(self, workload: kueue.Workload) -> list[ProvisioningRequest]:
        return self._related.requests.having(identity(WORKLOADS, workload.metadata))
