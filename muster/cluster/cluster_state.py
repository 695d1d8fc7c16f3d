"""The observed objects of a pass, and lookups among them."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from muster.cluster import ownership
from muster.cluster.jobs.job import Job
from muster.cluster.jobs.pod_checks import PodChecks, is_new, key_of
from muster.cluster.ownership import Owner, identity, owner_of
from muster.cluster.pass_cache import PassCache
from muster.cluster.relations import Marks, Relations
from muster.cluster.timers import MonotonicTimers
from muster.kube import kinds
from muster.kube.kinds import WORKLOADS, AnyKind, Kind
from muster.objects import kueue, kueue_queues, workload_status
from muster.objects.autoscaling import ProvisioningRequest
from muster.objects.core import Pod
from muster.objects.limits import LimitRange
from muster.objects.meta import Object
from muster.objects.names import BUDGETS, RESOURCE_IN_USE
from muster.translation.budgets import budgets

T = TypeVar("T", bound=Object)
Objects = Mapping[AnyKind, Mapping[str, Any]]
"""Objects by kind and key."""
NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"


@dataclass
class ClusterState:
    """The observed objects, by kind and by key (`namespace/name`, or `name` for cluster-scoped kinds).

    `objects` returns those of a kind. Kinds that decisions read often have an attribute as well."""

    observed: Objects = field(default_factory=dict)
    cache: PassCache = field(default_factory=PassCache)  # kept from pass to pass, like timers and pod_checks
    timers: MonotonicTimers = field(default_factory=MonotonicTimers)
    pod_checks: PodChecks | None = None  # None: pods are not checked
    relations: Relations | None = None  # None: computed from the objects
    marks: Marks | None = None  # changes since the last pass; None: anything may have changed

    def __post_init__(self) -> None:
        self.workloads = self.objects(kinds.WORKLOADS)
        self.local_queues = self.objects(kinds.LOCAL_QUEUES)
        self.cluster_queues = self.objects(kinds.CLUSTER_QUEUES)
        self.cohorts = self.objects(kinds.COHORTS)
        self.flavors = self.objects(kinds.FLAVORS)
        self.priorities = self.objects(kinds.PRIORITIES)
        self.checks = self.objects(kinds.CHECKS)
        self.provisioning_configs = self.objects(kinds.PROVISIONING_CONFIGS)
        self.provisioning_requests = self.objects(kinds.PROVISIONING_REQUESTS)
        self.pod_templates = self.objects(kinds.POD_TEMPLATES)  # with MANAGED_LABEL
        self.pods = self.objects(kinds.PODS)  # with WORKLOAD_UID_LABEL
        self.topologies = self.objects(kinds.TOPOLOGIES)
        self.nodes = self.objects(kinds.NODES)  # empty unless there is a Topology
        self.bound_pods = self.objects(kinds.BOUND_PODS)  # of all namespaces, likewise
        self.namespaces = self.objects(kinds.NAMESPACES)
        self.limit_ranges = self.objects(kinds.LIMIT_RANGES)
        self.runtime_classes = self.objects(kinds.RUNTIME_CLASSES)
        self.pod_priorities = self.objects(kinds.POD_PRIORITIES)
        self.claim_templates = self.objects(kinds.RESOURCE_CLAIM_TEMPLATES)
        self.device_classes = self.objects(kinds.DEVICE_CLASSES)

    def objects(self, kind: Kind[T]) -> Mapping[str, T]:
        """Returns the objects of a kind, by key."""
        return self.observed.get(kind, {})

    def with_objects(self, kind: Kind[T], objects: Mapping[str, T]) -> "ClusterState":
        """Returns the cluster with other objects of a kind."""
        return replace(self, observed={**self.observed, kind: objects})

    @cached_property
    def _related(self) -> Relations:
        return self.relations or Relations.of(self)

    @property
    def jobs_with_empty_queue_label(self) -> list[Job]:
        """Jobs created by users with an empty queue label, which stay suspended."""
        return self._related.jobs_with_empty_label.having(True)

    @property
    def job_identities(self) -> Collection[Owner]:
        """The identities of all jobs, including those managed by other controllers."""
        return self._related.jobs.values

    def job(self, owner: Owner) -> Job | None:
        """Returns the job with this identity, whether it is in a queue or not."""
        return self._related.jobs.first(owner)

    def workload_of(self, job: Job) -> kueue.Workload | None:
        """Returns the Workload that the job controls."""
        return self._related.workloads_by_job.first(identity(job.kind, job.metadata))

    def job_of(self, workload: kueue.Workload) -> Job | None:
        """Returns the job that owns the Workload, even if it is not in a queue, as it may have to be
        stopped."""
        owner = ownership.job_of(workload)
        return self.job(owner) if owner is not None else None

    def local_queue_of(self, workload: kueue.Workload) -> kueue_queues.LocalQueue | None:
        """Returns the Workload's LocalQueue, if it exists."""
        return self.local_queues.get(f"{workload.metadata.namespace}/{workload.spec.queue_name}")

    def cluster_queue_of(self, workload: kueue.Workload) -> str | None:
        """Returns the name of the ClusterQueue of the Workload's LocalQueue; None without a LocalQueue."""
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
        """Labels by namespace, including the name label that every namespace has, and namespaces not yet
        observed."""
        observed = {
            name: {NAMESPACE_NAME_LABEL: name, **namespace.metadata.labels}
            for name, namespace in self.namespaces.items()
        }
        return observed | {name: {NAMESPACE_NAME_LABEL: name} for name in self.unobserved_namespaces}

    @cached_property
    def unobserved_namespaces(self) -> frozenset[str]:
        """Namespaces of Workloads that are not observed yet, as they were just created."""
        return frozenset(self._related.workloads_by_namespace.values - self.namespaces.keys())

    @cached_property
    def _limit_ranges_by_namespace(self) -> Mapping[str, tuple[LimitRange, ...]]:
        by_namespace: dict[str, list[LimitRange]] = defaultdict(list)
        for key in sorted(self.limit_ranges):
            by_namespace[self.limit_ranges[key].metadata.namespace].append(self.limit_ranges[key])
        return {namespace: tuple(ranges) for namespace, ranges in by_namespace.items()}

    def limit_ranges_of(self, workload: kueue.Workload) -> tuple[LimitRange, ...]:
        """Returns the LimitRanges of the Workload's namespace, sorted by name."""
        return self._limit_ranges_by_namespace.get(workload.metadata.namespace, ())

    def live_pods_of(self, workload: kueue.Workload) -> Sequence[Pod]:
        """Returns the pods of the gang that hold resources, identified by their label only (ownership.py)."""
        return self._related.live_pods.having((workload.metadata.namespace, workload.metadata.uid))

    def pod_refusal(self, workload: kueue.Workload, job: Job) -> str | None:
        """Returns why the API server refuses the gang's pods, empty if it accepts them. None: the gang must
        wait for the result of its check."""
        refusal = self.latest_pod_refusal(workload.key, job)
        return "" if refusal is None and not is_new(workload) else refusal

    def latest_pod_refusal(self, key: str, job: Job) -> str | None:
        """Returns the last result of the pod check of a job whose Workload has or will have this key; None if
        there is no result yet. Requests the check."""
        if self.pod_checks is None:
            return ""
        return self.pod_checks.refusal(self.cache.get(key_of, key, job), job, key)

    def dependents_of(self, workload: kueue.Workload) -> list[Job]:
        """Returns the RayClusters or Jobs, other than the job itself, that create the gang's pods: those that
        the operator created for the job, and the owners of its live pods, as tenants may edit the owner
        references of RayClusters."""
        job = ownership.job_of(workload)
        by_uid = {c.metadata.uid: c for c in self._related.dependents_by_creator.having(job)} if job else {}
        for pod in self.live_pods_of(workload):
            creator = pod.metadata.controller
            cluster = self._related.dependents.first(creator.uid) if creator is not None else None
            if cluster is not None:
                by_uid[cluster.metadata.uid] = cluster
        if job is not None:
            by_uid.pop(job.uid, None)
        return [c for c in by_uid.values() if c.metadata.namespace == workload.metadata.namespace]

    def clean_ups_without_workload(self) -> list[Job]:
        """Returns RayClusters in queues that KubeRay cleans Redis up for, and whose gang has no Workload."""
        clusters = ((c, ownership.creator_of(c)) for c in self._related.queued_clean_ups.having(True))
        jobs = ((c, creator or identity(c.kind, c.metadata)) for c, creator in clusters)
        return [c for c, job in jobs if self._related.workloads_by_job.first(job) is None]

    def counts_against_quota(self, workload: kueue.Workload) -> bool:
        """Returns whether the Workload uses quota according to the persisted objects. A finished Workload
        uses its quota until its pods are gone and its finalizer is removed."""
        status = workload.status
        if not workload_status.holds_quota(status) or not workload_status.is_finished(status):
            return workload_status.holds_quota(status)
        clusters = (c for c in self.dependents_of(workload) if not c.metadata.deletion_timestamp)
        runs = bool(self.live_pods_of(workload)) or not all(c.halted for c in clusters)
        return runs or RESOURCE_IN_USE in workload.metadata.finalizers

    @cached_property
    def deleted_queues(self) -> Mapping[str, frozenset[str]]:
        """Deleted ClusterQueues whose quota gangs still hold, with the flavors of that quota."""
        flavors: dict[str, frozenset[str]] = {}
        reservations = self._related.workloads_by_reservation
        for queue in reservations.values - self.cluster_queues.keys():
            holders = [w for w in reservations.having(queue) if self.counts_against_quota(w)]
            admissions = (w.status.admission for w in holders)
            assigned = (pod_set for a in admissions if a for pod_set in a.pod_set_assignments)
            if holders:
                flavors[queue] = frozenset(name for pod_set in assigned for name in pod_set.flavors.values())
        return flavors

    @cached_property
    def budgeted_resources(self) -> frozenset[str]:
        """The resources of all budgets; their usage is recorded in all queues."""
        declared = (
            self.cache.get(_budgeted, f"{type(obj).__name__} {obj.key}", obj)
            for obj in (*self.cluster_queues.values(), *self.cohorts.values())
            if BUDGETS in obj.metadata.annotations
        )
        return frozenset[str]().union(*declared)

    def requester_of(self, request: ProvisioningRequest) -> kueue.Workload | None:
        """Returns the Workload that the request was created for."""
        owner = owner_of(request, WORKLOADS)
        return self._related.workloads.first(owner) if owner is not None else None

    def requests_of(self, workload: kueue.Workload) -> list[ProvisioningRequest]:
        """Returns the ProvisioningRequests that the Workload owns."""
        return self._related.requests.having(identity(WORKLOADS, workload.metadata))


def _budgeted(obj: Object) -> frozenset[str]:
    """Returns the resources of the budgets of a ClusterQueue or Cohort; none if they are unreadable."""
    try:
        return frozenset(budget.resource for budget in budgets(obj.metadata.annotations))
    except ValueError:
        return frozenset()
