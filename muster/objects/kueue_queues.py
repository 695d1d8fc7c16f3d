"""Kueue's queues, cohorts, quotas, flavors and priorities.

Source of every field: Kueue apis/kueue/v1beta2 at v0.19.2.
"""

from typing import Any

from muster.objects.meta import Condition, Object, View
from muster.objects.names import NODE_SIZES


class ResourceQuota(View):
    name: str
    nominal_quota: str | int = "0"
    borrowing_limit: str | int | None = None
    lending_limit: str | int | None = None


class FlavorQuotas(View):
    name: str
    resources: tuple[ResourceQuota, ...] = ()


class ResourceGroup(View):
    covered_resources: tuple[str, ...] = ()
    flavors: tuple[FlavorQuotas, ...] = ()


class BorrowWithinCohort(View):
    policy: str = "Never"
    max_priority_threshold: int | None = None


class QueuePreemption(View):
    within_cluster_queue: str = "Never"
    reclaim_within_cohort: str = "Never"
    borrow_within_cohort: BorrowWithinCohort | None = None


class FlavorFungibility(View):
    when_can_borrow: str = "MayStopSearch"
    when_can_preempt: str = "TryNextFlavor"
    preference: str | None = None


class FairSharing(View):
    weight: str | int | float | None = None


class AdmissionScope(View):
    admission_mode: str = ""


class CheckStrategyRule(View):
    name: str
    on_flavors: tuple[str, ...] = ()


class AdmissionChecksStrategy(View):
    admission_checks: tuple[CheckStrategyRule, ...] = ()


class ResourceUsage(View, omit_defaults=False):
    name: str
    total: str | int = "0"
    borrowed: str | int | None = None


class FlavorUsage(View, omit_defaults=False):
    name: str
    resources: tuple[ResourceUsage, ...] = ()


class QueueStatus(View, omit_defaults=False):
    """Status fields of both ClusterQueues and LocalQueues."""

    conditions: tuple[Condition, ...] = ()
    flavors_reservation: tuple[FlavorUsage, ...] = ()
    flavors_usage: tuple[FlavorUsage, ...] = ()
    pending_workloads: int = 0
    reserving_workloads: int = 0
    admitted_workloads: int = 0


class ClusterQueueSpec(View):
    cohort_name: str = ""
    resource_groups: tuple[ResourceGroup, ...] = ()
    queueing_strategy: str = "BestEffortFIFO"
    namespace_selector: dict[str, Any] | None = None
    preemption: QueuePreemption = QueuePreemption()
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    stop_policy: str = "None"
    admission_checks_strategy: AdmissionChecksStrategy = AdmissionChecksStrategy()
    fair_sharing: FairSharing | None = None
    admission_scope: AdmissionScope | None = None


class ClusterQueue(Object):
    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: QueueStatus = QueueStatus()


class CohortSpec(View):
    parent_name: str = ""
    resource_groups: tuple[ResourceGroup, ...] = ()
    fair_sharing: FairSharing | None = None


class Cohort(Object):
    spec: CohortSpec = CohortSpec()


class LocalQueueSpec(View):
    cluster_queue: str = ""
    stop_policy: str = "None"
    fair_sharing: FairSharing | None = None


class LocalQueue(Object):
    spec: LocalQueueSpec = LocalQueueSpec()
    status: QueueStatus = QueueStatus()


class ResourceFlavorSpec(View):
    node_labels: dict[str, str] = {}
    node_taints: tuple[dict[str, Any], ...] = ()
    tolerations: tuple[dict[str, Any], ...] = ()
    topology_name: str = ""


class ResourceFlavor(Object):
    spec: ResourceFlavorSpec = ResourceFlavorSpec()

    @property
    def node_sizes(self) -> str:
        """Returns the annotation; empty without it."""
        return self.metadata.annotations.get(NODE_SIZES, "")


class WorkloadPriorityClass(Object):
    value: int = 0
