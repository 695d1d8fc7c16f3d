"""The phases of a Workload and the transitions between them.

Kueue derives similar phases from the conditions (pkg/workload: Status), without BACK_OFF and EVICTED.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar

from muster.objects.kueue import WorkloadStatus
from muster.objects.meta import find_condition
from muster.objects.workload_status import (
    REQUEUED,
    holds_quota,
    is_admitted,
    is_evicted,
    is_finished,
    is_just_unset,
)


class Phase(StrEnum):
    """The phase of a Workload between entering its queue and the end of its job (see DESCRIPTIONS)."""

    PENDING = "Pending"
    BACK_OFF = "BackOff"
    QUOTA_RESERVED = "QuotaReserved"
    ADMITTED = "Admitted"
    EVICTED = "Evicted"
    FINISHED = "Finished"


DESCRIPTIONS = {
    Phase.PENDING: "in its queue, or inadmissible for the reason in its condition `QuotaReserved`",
    Phase.BACK_OFF: "has no quota and is not in its queue until its back-off or the stop of its queue ends",
    Phase.QUOTA_RESERVED: "holds quota; admission checks or the placement of its pods are outstanding",
    Phase.ADMITTED: "holds quota, and its gang may run",
    Phase.EVICTED: "holds quota until its pods are gone or, without a job, until its creator unsets it",
    Phase.FINISHED: "its job has ended; its pods count against the quota until they are gone",
}


def phase(status: WorkloadStatus) -> Phase:
    """Returns the phase of a Workload with this status."""
    if is_finished(status):
        return Phase.FINISHED
    if holds_quota(status):
        if is_evicted(status):
            return Phase.EVICTED
        return Phase.ADMITTED if is_admitted(status) else Phase.QUOTA_RESERVED
    if is_just_unset(status):
        return Phase.EVICTED
    requeued = find_condition(status.conditions, REQUEUED)
    return Phase.BACK_OFF if requeued is not None and requeued.status == "False" else Phase.PENDING


class PassStage(StrEnum):
    """The part of a pass that makes a transition; a write may combine one transition of each stage."""

    ADVANCE = "before the decision"
    DECIDE = "by the decision"


@dataclass(frozen=True, slots=True)
class Transition:
    """A function of transitions.py that leads from any of `sources` to any of `targets`; `summary` is the
    first sentence of its docstring."""

    name: str
    summary: str
    sources: frozenset[Phase]
    targets: frozenset[Phase]
    stages: frozenset[PassStage]


TRANSITIONS: list[Transition] = []
"""All transitions, in the order of transitions.py."""

F = TypeVar("F", bound=Callable[..., Any])


def transition(sources: Iterable[Phase], targets: Iterable[Phase], *stages: PassStage) -> Callable[[F], F]:
    """Declares a function on statuses as a transition. docs/workload-phases.md is generated from the
    declarations, and the simulation checks every write against them."""

    def declare(function: F) -> F:
        summary = " ".join((function.__doc__ or "").split()).split(". ")[0].rstrip(".")
        TRANSITIONS.append(
            Transition(function.__name__, summary, frozenset(sources), frozenset(targets), frozenset(stages))
        )
        return function

    return declare


@cache
def may_follow(before: Phase, after: Phase) -> bool:
    """Returns whether one pass may lead from `before` to `after`, with at most one transition in each
    stage."""
    between = {before} | _targets(before, PassStage.ADVANCE)
    return after in between or any(after in _targets(phase, PassStage.DECIDE) for phase in between)


def _targets(source: Phase, stage: PassStage) -> set[Phase]:
    return {
        target
        for declared in TRANSITIONS
        if stage in declared.stages and source in declared.sources
        for target in declared.targets
    }
