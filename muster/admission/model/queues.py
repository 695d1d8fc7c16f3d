"""ClusterQueues and Cohorts: quotas, policies, and how they share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from muster.admission.model.flavors import LabelSelector


class FlavorResource(NamedTuple):
    """One column of quota: a resource on a kind of node."""

    flavor: str
    resource: str


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


class FungibilityPreference(StrEnum):
    """Which of two evils a flavor choice prefers; as Kueue's code has it, not its API's comments."""

    BORROWING_OVER_PREEMPTION = "BorrowingOverPreemption"
    PREEMPTION_OVER_BORROWING = "PreemptionOverBorrowing"


@dataclass(frozen=True, slots=True)
class BorrowWithinCohort:
    """A workload may borrow what it takes from others of lower priority, if that is at most the
    threshold (None: no threshold)."""

    priority_threshold_max: int | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """An AdmissionCheck that a queue asks for; on these flavors only, or on all if there are none.

    `provisions`: it may make the nodes, so that pods are placed only once it is ready."""

    name: str
    flavors: frozenset[str] = frozenset()
    provisions: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that all workloads of a queue, or of all queues of a cohort, may use of a resource in a
    period: `unit_ms` is its units times milliseconds, of cpu millicores times milliseconds.

    Periods follow each other from `anchor_ms` on, before it as well: 1970 began on a Thursday, so that
    weeks from Monday have the anchor 4 days."""

    resource: str
    unit_ms: int
    period_ms: int
    anchor_ms: int = 0

    def period(self, now_ms: int) -> tuple[int, int]:
        """The beginning of the period, and its end, which is the beginning of the next one."""
        start_ms = now_ms - (now_ms - self.anchor_ms) % self.period_ms
        return start_ms, start_ms + self.period_ms


@dataclass(frozen=True, slots=True)
class Spent:
    """Usage of a queue's workloads since then, without those that still hold quota."""

    resource: str
    since_ms: int
    unit_ms: int


@dataclass(frozen=True, slots=True)
class Cohort:
    name: str
    parent: str | None = None
    groups: tuple[ResourceGroup, ...] = ()
    weight: Fraction = Fraction(1)  # of its share, where sharing is fair
    budgets: tuple[Budget, ...] = ()  # ours: rules/budgets.py


@dataclass(frozen=True, slots=True)
class ClusterQueue:
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
    weight: Fraction = Fraction(1)  # of its share, where sharing is fair
    usage_based: bool = False  # LocalQueues that used less go first (admissionScope)
    namespaces: LabelSelector | None = field(default_factory=LabelSelector)  # None selects none
    checks: tuple[Check, ...] = ()
    budgets: tuple[Budget, ...] = ()  # ours: rules/budgets.py
    run_time_ms_min: int | None = None  # ours, of its workloads: Rules.run_time_ms_min unless set
    problem: str = ""  # why it admits nothing, while what it holds counts; empty if all is well
