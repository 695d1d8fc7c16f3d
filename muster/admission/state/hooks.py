"""Hooks of the state for optional rules (muster/admission/rules), installed by the engine."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from muster.admission.quota.tree import QuotaNode, Usage
from muster.admission.state.holdings import Holding
from muster.admission.state.over_budget import UsedUp
from muster.admission.wait_note import Ruling, WaitNote


class CandidateProtection(Protocol):
    """Protects candidates from preemption for a time (rules/min_runtime.py).

    `now_ms` is set before each decision. `notes` has the keys of workloads that have no preemption targets
    because of the protection. `begins` is set by a search with a candidate that the next decision
    protects."""

    now_ms: int
    begins: bool
    notes: dict[str, WaitNote]

    def unprotected(self, candidates: Iterable[Holding]) -> Iterator[Holding]:
        """Yields the candidates that may be preempted."""

    def next_end_ms(self, holdings: Iterable[Holding]) -> int | None:
        """Returns when the protection of any of these holdings ends next, if there is one."""

    def begin(self) -> None:
        """Starts a search for preemption targets."""

    def suspend(self) -> bool:
        """Disables the protection for a second search; returns False if the first search met no
        protection."""

    def resume(self, preemptor: str, has_targets: bool) -> None:
        """Restores the protection, and records whether the preemptor has targets without it."""


class UsageLimit(Protocol):
    """Limits admissions by the past usage of queues (rules/budgets.py). `now_ms` is set before each
    decision."""

    now_ms: int

    def ruling(self, node: QuotaNode, usage: Usage, run_time_ms: int | None) -> Ruling:
        """Returns the ruling on a workload that would otherwise be admitted."""


class BudgetStandings(Protocol):
    """Finds the soft budgets that are used up (rules/soft_budgets.py)."""

    def used_up(self, names: Iterable[str], now_ms: int) -> dict[str, tuple[UsedUp, ...]]:
        """Returns the budgets that are used up, by queue; an empty tuple for queues with other soft
        budgets."""

    def until_ms(self, names: Iterable[str], now_ms: int) -> int | None:
        """Returns when the result of `used_up` may change by time alone."""
