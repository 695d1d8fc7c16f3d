"""How decisions are taken, beyond what the objects say: Kueue's configuration and gates, and ours.

The defaults are those of Kueue v0.19; what it does not have is off.
"""

from dataclasses import dataclass
from enum import StrEnum


class FairStrategy(StrEnum):
    """When fair sharing may preempt: what is compared with the preemptor's new share."""

    LESS_THAN_OR_EQUAL_TO_FINAL_SHARE = "LessThanOrEqualToFinalShare"
    LESS_THAN_INITIAL_SHARE = "LessThanInitialShare"


@dataclass(frozen=True, slots=True)
class FairSharing:
    strategies: tuple[FairStrategy, ...] = (
        FairStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE,
        FairStrategy.LESS_THAN_INITIAL_SHARE,
    )


@dataclass(frozen=True, slots=True)
class Rules:
    fair_sharing: FairSharing | None = None
    partial_admission: bool = True
    priority_sorting_within_cohort: bool = True
    prioritize_preemptors: bool = False  # among the heads of a cycle
