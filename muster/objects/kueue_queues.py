"""Kueue's queues, cohorts, quotas, flavors and priorities.

Source of every field: Kueue apis/kueue/v1beta2 at v0.19.2.
"""

from typing import Any

from muster.objects.meta import Condition, Object, View
from muster.objects.names import NODE_SIZES


class ResourceQuota(View):
    """The quota of a resource in a flavor."""

    name: str
    nominal_quota: str | int = "0"
    borrowing_limit: str | int | None = None
    lending_limit: str | int | None = None


class FlavorQuotas(View):
    """The quotas of a flavor."""

    name: str
    resources: tuple[ResourceQuota, ...] = ()


class ResourceGroup(View):
    """Resources that are assigned from the same flavor, and the flavors to try in order."""

    covered_resources: tuple[str, ...] = ()
    flavors: tuple[FlavorQuotas, ...] = ()


class BorrowWithinCohort(View):
    """Returns whether a workload that borrows may preempt in the cohort."""

    policy: str = "Never"
    max_priority_threshold: int | None = None


class QueuePreemption(View):
    """The workloads that the queue may preempt."""

    within_cluster_queue: str = "Never"
    reclaim_within_cohort: str = "Never"
    borrow_within_cohort: BorrowWithinCohort | None = None


class FlavorFungibility(View):
    """Rules for trying the next flavor instead of borrowing or preempting."""

    when_can_borrow: str = "MayStopSearch"
    when_can_preempt: str = "TryNextFlavor"
    preference: str | None = None


class FairSharing(View):
    """The weight of a queue or cohort in fair sharing."""

    weight: str | int | float | None = None


class AdmissionScope(View):
    """The mode of fair sharing of usage."""

    admission_mode: str = ""


class CheckStrategyRule(View):
    """An admission check, and the flavors that it applies to; all if there are none."""

    name: str
    on_flavors: tuple[str, ...] = ()


class AdmissionChecksStrategy(View):
    """The admission checks of a queue."""

    admission_checks: tuple[CheckStrategyRule, ...] = ()


class ResourceUsage(View, omit_defaults=False):
    """The used and borrowed quota of a resource."""

    name: str
    total: str | int = "0"
    borrowed: str | int | None = None


class FlavorUsage(View, omit_defaults=False):
    """The used quota of a flavor."""

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
    """The quotas, the cohort and the policies of a queue."""

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
    """A queue with quota for workloads of any namespace."""

    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: QueueStatus = QueueStatus()


class CohortSpec(View):
    """The parent and the own quotas of a cohort."""

    parent_name: str = ""
    resource_groups: tuple[ResourceGroup, ...] = ()
    fair_sharing: FairSharing | None = None


class Cohort(Object):
    """Queues and cohorts that lend quota to each other."""

    spec: CohortSpec = CohortSpec()


class LocalQueueSpec(View):
    """The ClusterQueue of a LocalQueue."""

    cluster_queue: str = ""
    stop_policy: str = "None"
    fair_sharing: FairSharing | None = None


class LocalQueue(Object):
    """The queue of a namespace, through which its jobs reach a ClusterQueue."""

    spec: LocalQueueSpec = LocalQueueSpec()
    status: QueueStatus = QueueStatus()


class ResourceFlavorSpec(View):
    """The labels and taints of a flavor's nodes, and the tolerations that it adds to pods."""

    node_labels: dict[str, str] = {}
    node_taints: tuple[dict[str, Any], ...] = ()
    tolerations: tuple[dict[str, Any], ...] = ()
    topology_name: str = ""


class ResourceFlavor(Object):
    """A kind of nodes."""

    spec: ResourceFlavorSpec = ResourceFlavorSpec()

    @property
    def node_sizes(self) -> str:
        """Returns the annotation; empty without it."""
        return self.metadata.annotations.get(NODE_SIZES, "")


class WorkloadPriorityClass(Object):
    """A priority of workloads, independent of their pods' priority."""

    value: int = 0
