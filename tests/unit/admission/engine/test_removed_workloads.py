"""An engine forgets removed workloads, and decides without them."""

import gc
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any
from unittest.mock import patch

import pytest

from muster.admission import (
    Aging,
    Budget,
    Cohort,
    Engine,
    FairSharing,
    PreemptionPolicy,
    QueueingStrategy,
    Rules,
    Snapshot,
    WaitReason,
    Workload,
)
from muster.admission.pruning.protocol import Pruning
from muster.admission.pruning.try_everything import TryEverything
from muster.admission.pruning.wake_index import WakeIndex
from tests.unit.admission.builders import GPU, NOW_MS, pods, queue, snapshot, workload

_CODE = (type, ModuleType, FunctionType)  # these lead to everything that was ever imported


def uids(engine: Engine) -> set[str]:
    """All UIDs that can be reached from the engine."""
    return {text.split("@")[0] for text in _reachable(engine) if isinstance(text, str) and "@uid" in text}


def _reachable(root: object) -> Iterator[Any]:
    visited: dict[int, Any] = {id(root): root}
    todo = [root]
    while todo:
        referents = gc.get_referents(todo.pop())
        new = {
            id(referent): referent
            for referent in referents
            if id(referent) not in visited and not isinstance(referent, _CODE)
        }
        visited |= new
        todo += new.values()
    return iter(visited.values())


def some() -> list[Workload]:
    """Workloads that fit, wait, preempt, or are of several groups in every queue."""
    return [
        workload(
            f"{name}-{n}",
            name,
            1 + n % 3,
            uid=f"{name}-{n}@uid",
            priority=n % 2,
            queued_at_ms=n,
            run_time_ms=1000 if n % 5 else None,
        )
        for name in ("free", "strict", "alone")
        for n in range(12)
    ]


def cluster() -> Snapshot:
    lower = PreemptionPolicy.LOWER_PRIORITY
    return snapshot(
        [
            queue("free", 5, cohort="ml", within_queue=lower, reclaim_within_cohort=PreemptionPolicy.ANY),
            queue("strict", 4, cohort="ml", within_queue=lower, strategy=QueueingStrategy.STRICT_FIFO),
            queue("alone", 6, budgets=(Budget(GPU, 10_000, 100_000),)),
        ],
        cohorts=[Cohort("ml")],
    )


ENGINES: dict[str, tuple[Rules, type[Pruning]]] = {
    "default rules": (Rules(), WakeIndex),
    "without pruning": (Rules(), TryEverything),
    "fair sharing": (Rules(fair_sharing=FairSharing()), WakeIndex),
    "optional rules": (Rules(backfill=True, aging=Aging(1, 1000, 3), run_time_ms_min=5), WakeIndex),
}


@pytest.mark.parametrize(("rules", "pruning"), ENGINES.values(), ids=ENGINES.keys())
def test_engine_keeps_no_uid_of_removed_workloads(rules: Rules, pruning: type[Pruning]) -> None:
    engine = Engine(cluster(), rules, pruning)
    for queued in some():
        engine.put(queued)
    for n in range(3):  # those with quota end, and others take their place
        for decision in engine.decide(NOW_MS + n).admissions[: 2 * n]:
            engine.remove(decision.workload)
    assert uids(engine)
    for queued in some():
        engine.remove(queued.key)
        engine.decide(NOW_MS + 4)
    assert uids(engine) == set()


def test_workload_waits_behind_no_head_that_was_removed() -> None:
    of = queue("q", 2, within_queue=PreemptionPolicy.LOWER_PRIORITY)
    engine = Engine(snapshot(of, workload("runs", "q", 2)))
    engine.decide(NOW_MS)
    engine.put(workload("preempts", "q", 2, priority=1))
    engine.put(workload("behind", "q", pods(gpu=1)))
    assert [wait.reason for wait in engine.decide(NOW_MS).waiting] == [
        WaitReason.BEHIND_HEAD,
        WaitReason.PREEMPTION,
    ]
    engine.remove("ns/preempts")
    assert [wait.reason for wait in engine.waiting(NOW_MS)] == [WaitReason.QUOTA]


def test_the_cache_of_equivalence_classes_is_bounded() -> None:
    engine = Engine(snapshot(queue("q", 9)))
    with patch("muster.admission.pruning.wake_index._CACHED_MAX", 2):
        for gpus in range(5):
            engine.put(workload("w", "q", gpus))
            engine.decide(NOW_MS)
    (index,) = {group.selector.pruning for group in engine._live.groups.values()}
    assert isinstance(index, WakeIndex)
    assert len(index._cache) == 2
