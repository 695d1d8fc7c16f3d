"""Kueue's API, `kueue.x-k8s.io/v1beta2`: labels, and the Workload with its admission.

Source of every field: Kueue apis/kueue/v1beta2 at v0.19.2.
"""

from typing import Any

import msgspec

from muster.objects.meta import Condition, Object, View
from muster.objects.pods import Template, own_template
from muster.objects.sharing import share_struct

DEFAULT_PRIORITY_CLASS = "default"  # of jobs without the label, if the class exists
PODS_MAX = 2**31 - 1  # of a pod set
POD_SETS_MAX = 18  # of a Workload


class SliceConstraint(View):
    """A level of the topology that slices of `size` pods must not cross."""

    topology: str = ""
    size: int = 0


class TopologyRequest(View):
    """The topology in which the pods of a set are placed together."""

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


class PodSet(View, gc=True, weakref=True):
    """Pods with the same template."""

    name: str
    count: int
    template: Template
    min_count: int | None = None
    topology_request: TopologyRequest | None = None

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "template", own_template(self.template))


class PriorityClassRef(View, omit_defaults=False):
    """The WorkloadPriorityClass or PriorityClass that sets the priority."""

    group: str
    kind: str
    name: str


class PreemptionGate(View):
    """A gate that must be open before the workload may preempt others."""

    name: str = ""


class WorkloadSpec(View, gc=True, weakref=True):
    """The pods of a job, its LocalQueue and its priority."""

    queue_name: str = ""
    pod_sets: tuple[PodSet, ...] = ()
    active: bool = True
    priority: int | None = None
    priority_class_ref: PriorityClassRef | None = None
    maximum_execution_time_seconds: int | None = None
    preemption_gates: tuple[PreemptionGate, ...] = ()


class LevelIndividualValues(View):
    """Different values of a level, without their common prefix and suffix."""

    prefix: str | None = None
    suffix: str | None = None
    roots: tuple[str, ...] = ()


class LevelValues(View):
    """The values of a level: one for all domains, or one for each."""

    universal: str | None = None
    individual: LevelIndividualValues | None = None


class SlicePodCounts(View):
    """The numbers of pods: one for all domains, or one for each."""

    universal: int | None = None
    individual: tuple[int, ...] = ()


class AssignmentSlice(View):
    """The domains of a slice, with common parts factored out (TopologyAssignment of v1beta2)."""

    domain_count: int = 0
    values_per_level: tuple[LevelValues, ...] = ()
    pod_counts: SlicePodCounts = SlicePodCounts()


class TopologyAssignment(View):
    """The domains of a pod set and the number of pods in each, in compressed form."""

    levels: tuple[str, ...] = ()
    slices: tuple[AssignmentSlice, ...] = ()


class PodSetAssignment(View):
    """The flavors, the quota and the placement of a pod set."""

    name: str
    flavors: dict[str, str] = {}
    resource_usage: dict[str, str | int] = {}
    count: int | None = None
    topology_assignment: TopologyAssignment | None = None
    delayed_topology_request: str | None = None  # Pending | Ready


class Admission(View, omit_defaults=False, gc=True, weakref=True):
    """The ClusterQueue and the assignments of an admitted workload."""

    cluster_queue: str
    pod_set_assignments: tuple[PodSetAssignment, ...]


class PodSetUpdate(View):
    """Changes of a pod set's template by an admission check."""

    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[dict[str, Any], ...] = ()


class AdmissionCheckState(View):
    """The state of an admission check."""

    name: str
    state: str  # Pending | Ready | Retry | Rejected
    message: str  # required, may be empty
    last_transition_time: str = ""
    pod_set_updates: tuple[PodSetUpdate, ...] = ()
    retry_count: int = 0
    requeue_after_seconds: int | None = None


class RequeueState(View):
    """The number of evictions, and the end of the requeue backoff."""

    count: int = 0
    requeue_at: str | None = None


class ReclaimablePod(View, omit_defaults=False):
    """Pods of a set that have ended and whose quota is released."""

    name: str
    count: int


class UnhealthyNode(View):
    """A node of the topology assignment that has failed."""

    name: str


class PreemptionGateState(View):
    """The position of a preemption gate."""

    name: str = ""
    position: str = ""  # Open | Closed
    last_transition_time: str | None = None


class WorkloadStatus(View):
    """The conditions, the admission and its checks."""

    conditions: tuple[Condition, ...] = ()
    admission: Admission | None = None
    admission_checks: tuple[AdmissionCheckState, ...] = ()
    requeue_state: RequeueState | None = None
    reclaimable_pods: tuple[ReclaimablePod, ...] = ()
    unhealthy_nodes: tuple[UnhealthyNode, ...] = ()
    preemption_gates: tuple[PreemptionGateState, ...] = ()
    accumulated_past_execution_time_seconds: int | None = None

    def __post_init__(self) -> None:
        share_struct(self, "admission")


NO_STATUS = WorkloadStatus()
"""The default, compared by identity: an empty status that was read is equal, but another object."""


class Workload(Object):
    """A job in a queue."""

    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = NO_STATUS

    def __post_init__(self) -> None:
        share_struct(self, "spec")
