"""The values that the core reads and answers: frozen, exact, without I/O.

Units: quantities are integers, `cpu` in millicores and every other resource in its own
unit (bytes, devices, pods), as Kueue counts them (pkg/resources/requests.go). Times are
integer milliseconds since the epoch. Names follow the `kueue.x-k8s.io/v1beta2` API.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

Resources = Mapping[str, int]


class FlavorResource(NamedTuple):
    """One column of quota: a resource on a kind of node."""

    flavor: str
    resource: str


class TaintEffect(StrEnum):
    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: TaintEffect


@dataclass(frozen=True, slots=True)
class Toleration:
    """An empty `key` with operator Exists tolerates everything; effect None means every effect."""

    key: str
    operator: str  # Equal | Exists
    value: str
    effect: TaintEffect | None


@dataclass(frozen=True, slots=True)
class NodeRequirement:
    key: str
    operator: str  # In | NotIn | Exists | DoesNotExist | Gt | Lt
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Flavor:
    """A ResourceFlavor: the nodes that carry these labels, behind these taints."""

    name: str
    node_labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True, slots=True)
class Quota:
    """`None` for a limit means unlimited."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(frozen=True, slots=True)
class FlavorQuotas:
    flavor: str
    quotas: Mapping[str, Quota]  # by resource


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that share one flavor choice; flavors in the order they are tried."""

    covered: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]


class QueueingStrategy(StrEnum):
    STRICT_FIFO = "StrictFIFO"
    BEST_EFFORT_FIFO = "BestEffortFIFO"


class StopPolicy(StrEnum):
    NONE = "None"
    HOLD = "Hold"
    HOLD_AND_DRAIN = "HoldAndDrain"


class PreemptionPolicy(StrEnum):
    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    LOWER_OR_NEWER_EQUAL_PRIORITY = "LowerOrNewerEqualPriority"
    ANY = "Any"


class FungibilityPolicy(StrEnum):
    MAY_STOP_SEARCH = "MayStopSearch"
    TRY_NEXT_FLAVOR = "TryNextFlavor"


@dataclass(frozen=True, slots=True)
class Cohort:
    name: str
    parent: str | None = None
    groups: tuple[ResourceGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterQueue:
    name: str
    cohort: str | None = None
    groups: tuple[ResourceGroup, ...] = ()
    strategy: QueueingStrategy = QueueingStrategy.BEST_EFFORT_FIFO
    stop: StopPolicy = StopPolicy.NONE
    within_queue: PreemptionPolicy = PreemptionPolicy.NEVER
    reclaim_within_cohort: PreemptionPolicy = PreemptionPolicy.NEVER
    when_can_borrow: FungibilityPolicy = FungibilityPolicy.MAY_STOP_SEARCH
    when_can_preempt: FungibilityPolicy = FungibilityPolicy.TRY_NEXT_FLAVOR


@dataclass(frozen=True, slots=True)
class PodSet:
    """`count` equal pods of a gang; `requests` is what one of them asks for."""

    name: str
    count: int
    requests: Resources
    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity: tuple[tuple[NodeRequirement, ...], ...] = ()  # any of (all of)
    tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True, slots=True)
class PodSetAssignment:
    """Where a pod set goes: a flavor for each resource, and what all its pods use together."""

    name: str
    count: int
    flavors: Mapping[str, str]  # resource -> flavor
    usage: Resources


@dataclass(frozen=True, slots=True)
class Admission:
    cluster_queue: str
    pod_sets: tuple[PodSetAssignment, ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """A gang. `admission` is set once its quota is reserved, whole; `evicted` while it is being
    stopped: it holds its quota until its pods are gone and the admission is withdrawn.

    `preempting` says that the last plan left it waiting for PREEMPTION: it goes first, so that
    nobody else takes the room that its victims make."""

    key: str  # namespace/name
    uid: str
    cluster_queue: str
    priority: int
    queued_at_ms: int
    pod_sets: tuple[PodSet, ...]
    admission: Admission | None = None
    reserved_at_ms: int = 0
    evicted: bool = False
    requeue_at_ms: int | None = None  # not to be tried before, after a failed check
    preempting: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All of it at one moment. `workloads` holds the pending and the reserved, none finished."""

    flavors: Mapping[str, Flavor]
    cohorts: Mapping[str, Cohort]
    cluster_queues: Mapping[str, ClusterQueue]
    workloads: tuple[Workload, ...]


class PreemptionReason(StrEnum):
    """Kueue's reasons for condition Preempted."""

    IN_CLUSTER_QUEUE = "InClusterQueue"
    IN_COHORT_RECLAMATION = "InCohortReclamation"


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
