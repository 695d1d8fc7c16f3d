"""The values that the core reads and answers: frozen, exact, without I/O.

Units: quantities are integers, `cpu` in millicores and every other resource in its own
unit (bytes, devices, pods), as Kueue counts them (pkg/resources/requests.go). Times are
integer milliseconds since the epoch. Names follow the `kueue.x-k8s.io/v1beta2` API.
"""

from muster.admission.model.flavors import (
    Flavor,
    LabelSelector,
    PreferredTerm,
    Requirement,
    Taint,
    TaintEffect,
    Toleration,
)
from muster.admission.model.plan import (
    Decision,
    Plan,
    Preemption,
    PreemptionReason,
    Shortfall,
    Waiting,
    WaitReason,
)
from muster.admission.model.queues import (
    BorrowWithinCohort,
    Budget,
    Check,
    ClusterQueue,
    Cohort,
    FlavorQuotas,
    FlavorResource,
    FungibilityPolicy,
    FungibilityPreference,
    PreemptionPolicy,
    QueueingStrategy,
    Quota,
    ResourceGroup,
    Spent,
    StopPolicy,
)
from muster.admission.model.rules import Aging, FairSharing, FairStrategy, Rules
from muster.admission.model.snapshot import Snapshot
from muster.admission.model.topology import (
    HOSTNAME,
    Node,
    SliceConstraint,
    Topology,
    TopologyAssignment,
    TopologyDomain,
    TopologyRequest,
)
from muster.admission.model.workloads import (
    NEVER_MS,
    Admission,
    CheckState,
    PodSet,
    PodSetAssignment,
    Resources,
    Workload,
)

__all__ = [
    "HOSTNAME",
    "NEVER_MS",
    "Admission",
    "Aging",
    "BorrowWithinCohort",
    "Budget",
    "Check",
    "CheckState",
    "ClusterQueue",
    "Cohort",
    "Decision",
    "FairSharing",
    "FairStrategy",
    "Flavor",
    "FlavorQuotas",
    "FlavorResource",
    "FungibilityPolicy",
    "FungibilityPreference",
    "LabelSelector",
    "Node",
    "Plan",
    "PodSet",
    "PodSetAssignment",
    "Preemption",
    "PreemptionPolicy",
    "PreemptionReason",
    "PreferredTerm",
    "QueueingStrategy",
    "Quota",
    "Requirement",
    "ResourceGroup",
    "Resources",
    "Rules",
    "Shortfall",
    "SliceConstraint",
    "Snapshot",
    "Spent",
    "StopPolicy",
    "Taint",
    "TaintEffect",
    "Toleration",
    "Topology",
    "TopologyAssignment",
    "TopologyDomain",
    "TopologyRequest",
    "WaitReason",
    "Waiting",
    "Workload",
]
