"""The plan: the result of a decision."""

from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from muster.admission.model.workloads import Admission


class PreemptionReason(StrEnum):
    """Kueue's reasons of the condition Preempted."""

    IN_CLUSTER_QUEUE = "InClusterQueue"
    IN_COHORT_RECLAMATION = "InCohortReclamation"
    IN_COHORT_RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"
    IN_COHORT_FAIR_SHARING = "InCohortFairSharing"


class WaitReason(Enum):
    """Reasons why a pending workload waits."""

    QUOTA = auto()
    PREEMPTION = auto()  # its preemption targets are selected or terminating
    NEVER_FITS = auto()  # larger than the queue's potential quota
    TOPOLOGY = auto()  # no topology domain fits its pods now
    NO_FLAVOR = auto()
    BEHIND_HEAD = auto()  # StrictFIFO: the head blocks
    QUEUE_STOPPED = auto()
    QUEUE_INACTIVE = auto()  # missing, references a missing flavor, or is in a cohort cycle
    BACKOFF = auto()
    BUDGET = auto()  # it would exceed a budget of its queue or a cohort
    RESERVED = auto()  # it would delay a head with a backfill reservation
    CHECK_FAILED = auto()  # an admission check failed and was not reset yet
    REFUSED = auto()  # by the queue's namespaceSelector, or because its requests are invalid
    GATED = auto()  # it needs preemption, which is gated


@dataclass(frozen=True, slots=True)
class PlannedAdmission:
    """A workload to admit, with its flavors, counts and nodes."""

    workload: str  # key
    admission: Admission


@dataclass(frozen=True, slots=True)
class Preemption:
    """A workload to preempt, with the workload that preempts it.

    `budget`: a clause about the soft budget that the target is over, and the preemptor is not."""

    workload: str  # key of the preemption target
    preemptor: str  # key
    reason: PreemptionReason
    budget: str = ""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """The quota of one flavor and resource that a workload lacks, in the core's units.

    `needed` is the total request of its pods; `nominal` and `used` are the queue's nominal quota and usage.
    `available` is the quota that it could use now, own and borrowed (negative if usage exceeds the quota);
    `available_max` is the same in an empty cluster. If every shortfall's nominal quota grew by `missing`,
    quota could be reserved: now, or for NEVER_FITS and NO_FLAVOR in an empty cluster.
    """

    flavor: str
    resource: str
    needed: int
    missing: int
    nominal: int
    used: int
    available: int
    available_max: int


class ExclusionCause(StrEnum):
    """Reasons why pods cannot use a flavor."""

    TAINT = "UntoleratedTaint"
    NODE_SELECTOR = "NodeSelector"
    NODE_AFFINITY = "NodeAffinity"
    NODE_SIZE = "NodeSize"  # a pod is larger than the nodes
    NO_QUOTA = "NoQuota"  # the flavor has no quota for a requested resource
    OTHER = "Other"  # its topology, or the workload's allowed flavors


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A reason why a pod set cannot use a flavor; a flavor may have several."""

    flavor: str
    pod_set: str
    cause: ExclusionCause
    message: str  # a predicate: the flavor is the subject
    key: str = ""  # of the taint or of the node selector's label, or the resource


@dataclass(frozen=True, slots=True)
class Waiting:
    """The reason why a workload waits, as data and as a sentence for users."""

    workload: str
    reason: WaitReason
    message: str
    until_ms: int | None = None  # when to decide again, if known
    shortfalls: tuple[Shortfall, ...] = ()  # if quota is the limit; the largest relative shortfall first
    exclusions: tuple[Exclusion, ...] = ()  # flavors that its pods cannot use
    others: tuple[str, ...] = ()  # keys of its preemption targets, or of a workload ahead of it


@dataclass(frozen=True, slots=True)
class Plan:
    """Actions to take now. Every pending workload is either in `admissions` or in `waiting`.

    The other fields are keys of workloads that lose their quota: `drained` by a queue with HoldAndDrain;
    `replaced` by a new slice of the same job that is admitted; `displaced` by a failed node without a
    replacement.
    """

    admissions: tuple[PlannedAdmission, ...]
    preemptions: tuple[Preemption, ...]
    waiting: tuple[Waiting, ...]
    drained: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    displaced: tuple[str, ...] = ()
