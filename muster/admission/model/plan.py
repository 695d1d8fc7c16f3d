"""The plan: the answer of a decision."""

from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from muster.admission.model.workloads import Admission


class PreemptionReason(StrEnum):
    """Kueue's reasons for condition Preempted."""

    IN_CLUSTER_QUEUE = "InClusterQueue"
    IN_COHORT_RECLAMATION = "InCohortReclamation"
    IN_COHORT_RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"
    IN_COHORT_FAIR_SHARING = "InCohortFairSharing"


class WaitReason(Enum):
    QUOTA = auto()
    PREEMPTION = auto()  # its victims are chosen or leaving
    NEVER_FITS = auto()  # larger than the queue can ever have
    TOPOLOGY = auto()  # its pods find no places near each other now
    NO_FLAVOR = auto()
    BEHIND_HEAD = auto()  # StrictFIFO: the head blocks
    QUEUE_STOPPED = auto()
    QUEUE_INACTIVE = auto()  # missing, or names a missing flavor or a cohort cycle
    BACKOFF = auto()
    BUDGET = auto()  # of its queue, or of a cohort of it
    RESERVED = auto()  # it would delay a head for which room is reserved
    CHECK_FAILED = auto()  # and is not prepared again yet
    REFUSED = auto()  # by the queue's namespaces, or for what its pods ask
    GATED = auto()  # it would have to preempt, and may not yet


@dataclass(frozen=True, slots=True)
class Decision:
    workload: str  # key
    admission: Admission


@dataclass(frozen=True, slots=True)
class Preemption:
    workload: str  # key of the victim
    preemptor: str  # key
    reason: PreemptionReason


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Quota that a workload lacks of a flavor's resource, in the core's units.

    `needed` is what it asks for there, all its pods together; the queue has `nominal` of its own and
    uses `used`; `available` could be used now (negative where more is used than the quota allows), and
    `most` while nothing ran, own and borrowed. With `missing` more nominal quota in the queue, for each of
    its shortfalls, the workload would get its quota: now, or for NEVER_FITS and NO_FLAVOR once nothing
    else runs.
    """

    flavor: str
    resource: str
    needed: int
    missing: int
    nominal: int
    used: int
    available: int
    most: int


class ExclusionCause(StrEnum):
    TAINT = "UntoleratedTaint"
    NODE_SELECTOR = "NodeSelector"
    NODE_AFFINITY = "NodeAffinity"
    NODE_SIZE = "NodeSize"  # a pod is larger than the nodes
    NO_QUOTA = "NoQuota"  # the flavor does not provide a resource that the pods ask for
    OTHER = "Other"  # its topology, or the flavors that the workload may take


@dataclass(frozen=True, slots=True)
class Exclusion:
    """One reason why the pods of a set can not use a flavor; a flavor may have several."""

    flavor: str
    pod_set: str
    cause: ExclusionCause
    message: str  # the end of a sentence about the flavor
    key: str = ""  # of the taint, of the label that a node selector asks for, or the resource


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a workload waits, as data and as one sentence for a user."""

    workload: str
    reason: WaitReason
    message: str
    until_ms: int | None = None  # a moment worth looking again, if one is known
    shortfalls: tuple[Shortfall, ...] = ()  # if quota is what binds: all of it, what is lacked most first
    exclusions: tuple[Exclusion, ...] = ()  # flavors that its pods can not use
    others: tuple[str, ...] = ()  # keys of victims that have to leave, or of a workload ahead of it


@dataclass(frozen=True, slots=True)
class Plan:
    """Actions to take now. Every pending workload is in `admissions` or `waiting`, never in both.

    `drained` are keys of reserved workloads that a queue with HoldAndDrain sends away; `replaced` those
    of slices that end because an admitted one takes their place; `displaced` those of admitted ones
    that lost a node whose pods find no other.
    """

    admissions: tuple[Decision, ...]
    preemptions: tuple[Preemption, ...]
    waiting: tuple[Waiting, ...]
    drained: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    displaced: tuple[str, ...] = ()
