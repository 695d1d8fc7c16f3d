"""Hooks for optional rules, which the engine gives to the state (muster/admission/rules)."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from muster.admission.quota.tree import QuotaNode, Usage
from muster.admission.state.holdings import Holding
from muster.admission.wait_note import Ruling, WaitNote


class VictimProtection(Protocol):
    """Withholds candidates from preemption for a time (rules/min_runtime.py).

    `now_ms` is set before each decision. `notes` are by the keys of workloads that find no victims only
    because of it. `begins` is set by a search that met a candidate which the next decision protects."""

    now_ms: int
    begins: bool
    notes: dict[str, WaitNote]

    def unprotected(self, candidates: Iterable[Holding]) -> Iterator[Holding]: ...

    def next_end_ms(self, holdings: Iterable[Holding]) -> int | None: ...

    def begin(self) -> None: ...

    def suspend(self) -> bool: ...

    def resume(self, preemptor: str, found: bool) -> None: ...


class UsageLimit(Protocol):
    """Refuses workloads for what queues have used so far (rules/budgets.py). `now_ms` is set before each
    decision."""

    now_ms: int

    def ruling(self, node: QuotaNode, usage: Usage, run_time_ms: int | None) -> Ruling: ...
