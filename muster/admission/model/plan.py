"""What a decision answers."""

from dataclasses import dataclass
from enum import StrEnum

from muster.admission.model.workloads import Admission


class PreemptionReason(StrEnum):
    """Kueue's reasons for condition Preempted."""

    IN_CLUSTER_QUEUE = "InClusterQueue"
    IN_COHORT_RECLAMATION = "InCohortReclamation"
    IN_COHORT_RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"
    IN_COHORT_FAIR_SHARING = "InCohortFairSharing"


class WaitReason(StrEnum):
    QUOTA = "WaitingForQuota"
    PREEMPTION = "WaitingForPreemption"  # its victims are chosen or leaving
    NEVER_FITS = "NeverFits"  # larger than the queue can ever have
    NO_FLAVOR = "NoMatchingFlavor"
    BEHIND_HEAD = "BehindHead"  # StrictFIFO: the head blocks
    QUEUE_STOPPED = "ClusterQueueStopped"
    QUEUE_INACTIVE = "ClusterQueueInactive"  # missing, or names a missing flavor or a cohort cycle
    BACKOFF = "Backoff"


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
class Waiting:
    """Why a workload waits, as data and as one sentence for a user."""

    workload: str
    reason: WaitReason
    message: str
    until_ms: int | None = None  # a moment worth looking again, if one is known


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do now. Every pending workload is in `admissions` or `waiting`, never in both.

    `drained` are keys of reserved workloads that a queue with HoldAndDrain sends away.
    """

    admissions: tuple[Decision, ...]
    preemptions: tuple[Preemption, ...]
    waiting: tuple[Waiting, ...]
    drained: tuple[str, ...] = ()
