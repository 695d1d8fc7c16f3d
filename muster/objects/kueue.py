"""Kueue's API, `kueue.x-k8s.io/v1beta2`: queues, quotas and admission.

Source of every field: Kueue apis/kueue/v1beta2 at v0.19.2.
"""

from typing import Any

import msgspec

from muster.objects.meta import Condition, Object, View
from muster.objects.pods import Template, own_template

GROUP = "kueue.x-k8s.io"
DEFAULT_PRIORITY_CLASS = "default"  # of jobs without the label, if the class exists
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
MAX_EXEC_TIME_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
JOB_UID_LABEL = "kueue.x-k8s.io/job-uid"
MANAGED_LABEL = "kueue.x-k8s.io/managed"
RESOURCE_IN_USE = "kueue.x-k8s.io/resource-in-use"
PROVISIONING_CONTROLLER = "kueue.x-k8s.io/provisioning-request"
MULTIKUEUE_CONTROLLER = "kueue.x-k8s.io/multikueue"
PROVREQ_ANNOTATION_PREFIX = "provreq.kueue.x-k8s.io/"


class SliceConstraint(View):
    topology: str = ""
    size: int = 0


class TopologyRequest(View):
    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    pod_index_label: str | None = None
    sub_group_index_label: str | None = None
    sub_group_count: int | None = None
    pod_set_group_name: str | None = None
    pod_set_slice_required_topology: str | None = None
    pod_set_slice_size: int | None = None
    podset_slice_required_topology_constraints: tuple[SliceConstraint, ...] = ()


class PodSet(View):
    name: str
    count: int
    template: Template
    min_count: int | None = None
    topology_request: TopologyRequest | None = None

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "template", own_template(self.template))


class PriorityClassRef(View, omit_defaults=False):
    group: str
    kind: str
    name: str


class PreemptionGate(View):
    name: str = ""


class WorkloadSpec(View):
    queue_name: str = ""
    pod_sets: tuple[PodSet, ...] = ()
    active: bool = True
    priority: int | None = None
    priority_class_ref: PriorityClassRef | None = None
    maximum_execution_time_seconds: int | None = None
    preemption_gates: tuple[PreemptionGate, ...] = ()


class LevelIndividualValues(View):
    prefix: str | None = None
    suffix: str | None = None
    roots: tuple[str, ...] = ()


class LevelValues(View):
    universal: str | None = None
    individual: LevelIndividualValues | None = None


class SlicePodCounts(View):
    universal: int | None = None
    individual: tuple[int, ...] = ()


class AssignmentSlice(View):
    """Domains of one slice, with common parts factored out (TopologyAssignment of v1beta2)."""

    domain_count: int = 0
    values_per_level: tuple[LevelValues, ...] = ()
    pod_counts: SlicePodCounts = SlicePodCounts()


class TopologyAssignment(View):
    levels: tuple[str, ...] = ()
    slices: tuple[AssignmentSlice, ...] = ()


class PodSetAssignment(View):
    name: str
    flavors: dict[str, str] = {}
    resource_usage: dict[str, str | int] = {}
    count: int | None = None
    topology_assignment: TopologyAssignment | None = None
    delayed_topology_request: str | None = None  # Pending | Ready


class Admission(View, omit_defaults=False):
    cluster_queue: str
    pod_set_assignments: tuple[PodSetAssignment, ...]


class PodSetUpdate(View):
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[dict[str, Any], ...] = ()


class AdmissionCheckState(View):
    name: str
    state: str  # Pending | Ready | Retry | Rejected
    message: str  # required, may be empty
    last_transition_time: str = ""
    pod_set_updates: tuple[PodSetUpdate, ...] = ()
    retry_count: int = 0
    requeue_after_seconds: int | None = None


class RequeueState(View):
    count: int = 0
    requeue_at: str | None = None


class ReclaimablePod(View, omit_defaults=False):
    name: str
    count: int


class UnhealthyNode(View):
    name: str


class PreemptionGateState(View):
    name: str = ""
    position: str = ""  # Open | Closed
    last_transition_time: str | None = None


class WorkloadStatus(View):
    conditions: tuple[Condition, ...] = ()
    admission: Admission | None = None
    admission_checks: tuple[AdmissionCheckState, ...] = ()
    requeue_state: RequeueState | None = None
    reclaimable_pods: tuple[ReclaimablePod, ...] = ()
    unhealthy_nodes: tuple[UnhealthyNode, ...] = ()
    preemption_gates: tuple[PreemptionGateState, ...] = ()
    accumulated_past_execution_time_seconds: int | None = None


class Workload(Object):
    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()


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


class WorkloadPriorityClass(Object):
    value: int = 0


class ParametersRef(View):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class AdmissionCheckSpec(View):
    controller_name: str = ""
    parameters: ParametersRef | None = None


class ConditionsStatus(View):
    conditions: tuple[Condition, ...] = ()


class AdmissionCheck(Object):
    spec: AdmissionCheckSpec = AdmissionCheckSpec()
    status: ConditionsStatus = ConditionsStatus()


class RetryStrategy(View):
    """Kueue's defaults: three retries, 60 s doubling up to 30 minutes."""

    backoff_limit_count: int = 3
    backoff_base_seconds: int = 60
    backoff_max_seconds: int = 1800


class NodeSelectorUpdate(View):
    key: str
    value_from_provisioning_class_detail: str = ""


class PodSetUpdates(View):
    node_selector: tuple[NodeSelectorUpdate, ...] = ()


class ProvisioningRequestConfigSpec(View):
    provisioning_class_name: str = ""
    parameters: dict[str, str] = {}
    managed_resources: tuple[str, ...] = ()
    retry_strategy: RetryStrategy = RetryStrategy()
    pod_set_updates: PodSetUpdates | None = None
    pod_set_merge_policy: str | None = None


class ProvisioningRequestConfig(Object):
    spec: ProvisioningRequestConfigSpec = ProvisioningRequestConfigSpec()
