"""ClusterQueues and Cohorts: their quotas and preemption policies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from muster.admission.model.budgets import Budget
from muster.admission.model.flavors import LabelSelector


class FlavorResource(NamedTuple):
    """A resource of a flavor: the key of quotas and usage."""

    flavor: str
    resource: str


@dataclass(frozen=True, slots=True)
class Quota:
    """Quota of a flavor's resource; a limit of None means unlimited."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(frozen=True, slots=True)
class FlavorQuotas:
    """The quotas of one flavor, by resource."""

    flavor: str
    quotas: Mapping[str, Quota]  # by resource


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that take the same flavor; flavors are tried in this order."""

    covered: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]


class QueueingStrategy(StrEnum):
    """Kueue's queueing strategies: whether a head that does not fit blocks the workloads behind it."""

    STRICT_FIFO = "StrictFIFO"
    BEST_EFFORT_FIFO = "BestEffortFIFO"


class StopPolicy(StrEnum):
    """Kueue's stop policies: whether a queue admits workloads, and whether it evicts admitted ones."""

    NONE = "None"
    HOLD = "Hold"
    HOLD_AND_DRAIN = "HoldAndDrain"


class PreemptionPolicy(StrEnum):
    """Kueue's preemption policies: the workloads that may be preempted."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    LOWER_OR_NEWER_EQUAL_PRIORITY = "LowerOrNewerEqualPriority"
    ANY = "Any"


class FungibilityPolicy(StrEnum):
    """Kueue's flavor fungibility: whether the search stops at a flavor or tries the next one."""

    MAY_STOP_SEARCH = "MayStopSearch"
    TRY_NEXT_FLAVOR = "TryNextFlavor"


class FungibilityPreference(StrEnum):
    """A preference between flavors that borrow and flavors that preempt.

    The meaning is that of Kueue's code; the comments of its API swap them."""

    BORROWING_OVER_PREEMPTION = "BorrowingOverPreemption"
    PREEMPTION_OVER_BORROWING = "PreemptionOverBorrowing"


@dataclass(frozen=True, slots=True)
class BorrowWithinCohort:
    """Allows preemption of lower priorities in the cohort while borrowing, up to the threshold
    (None: no threshold)."""

    priority_threshold_max: int | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """An AdmissionCheck of a queue, for these flavors; for all flavors if empty.

    With `provisions` it may create nodes, so pods are placed after it is ready."""

    name: str
    flavors: frozenset[str] = frozenset()
    provisions: bool = False


@dataclass(frozen=True, slots=True)
class Cohort:
    """A cohort with its quotas and its parent."""

    name: str
    parent: str | None = None
    groups: tuple[ResourceGroup, ...] = ()
    weight: Fraction = Fraction(1)  # for fair sharing
    budgets: tuple[Budget, ...] = ()  # not in Kueue: rules/budgets.py


@dataclass(frozen=True, slots=True)
class ClusterQueue:
    """A ClusterQueue with its quotas, cohort and policies."""

    name: str
    cohort: str | None = None
    groups: tuple[ResourceGroup, ...] = ()
    strategy: QueueingStrategy = QueueingStrategy.BEST_EFFORT_FIFO
    stop: StopPolicy = StopPolicy.NONE
    within_queue: PreemptionPolicy = PreemptionPolicy.NEVER
    reclaim_within_cohort: PreemptionPolicy = PreemptionPolicy.NEVER
    borrow_within_cohort: BorrowWithinCohort | None = None
    when_can_borrow: FungibilityPolicy = FungibilityPolicy.MAY_STOP_SEARCH
    when_can_preempt: FungibilityPolicy = FungibilityPolicy.TRY_NEXT_FLAVOR
    preference: FungibilityPreference | None = None
    weight: Fraction = Fraction(1)  # for fair sharing
    usage_based: bool = False  # orders LocalQueues by recent usage (admissionScope)
    namespaces: LabelSelector | None = field(default_factory=LabelSelector)  # None matches none
    checks: tuple[Check, ...] = ()
    budgets: tuple[Budget, ...] = ()  # not in Kueue: rules/budgets.py
    run_time_ms_min: int | None = None  # not in Kueue: overrides Rules.run_time_ms_min
    problem: str = ""  # why it admits nothing, though its usage counts; empty if none
