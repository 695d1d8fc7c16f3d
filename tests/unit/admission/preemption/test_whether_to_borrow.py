"""Tests whether a preemptor borrows, and which victims that allows (Kueue: classicalPreemptions)."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from muster.admission import ClusterQueue, FlavorResource, PreemptionPolicy, PreemptionReason, Workload
from muster.admission.preemption.preemptor import Preemptor
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import GPU, fr, queue, running, snapshot, workload

LOWER, ANY = PreemptionPolicy.LOWER_PRIORITY, PreemptionPolicy.ANY
OWN, RECLAIM = PreemptionReason.IN_CLUSTER_QUEUE, PreemptionReason.IN_COHORT_RECLAMATION
GPUS, CPUS = fr("l4"), fr("l4", "cpu")


def mine(gpu: int, cpu: int = 9) -> ClusterQueue:
    quotas = {"l4": {GPU: gpu, "cpu": cpu}}
    return queue("q", quotas, cohort="ml", within_queue=LOWER, reclaim_within_cohort=ANY)


def mate(gpu: int, name: str = "mate") -> ClusterQueue:
    return queue(name, {"l4": {GPU: gpu, "cpu": 9}}, cohort="ml")


Case = tuple[
    list[ClusterQueue], tuple[Workload, ...], Mapping[FlavorResource, int], dict[str, PreemptionReason]
]
CASES: dict[str, Case] = {
    "with victims in its own queue alone it borrows, and needs fewer": (
        [mine(4), mate(2)],
        (running("a", gpu=1), running("b", gpu=2, priority=1)),
        {GPUS: 4},
        {"a": OWN},
    ),
    "it takes back its own GPUs": (
        [mine(2), mate(2)],
        (running("m", "mate", gpu=4),),
        {GPUS: 2},
        {"m": RECLAIM},
    ),
    "it takes nothing back while it would borrow CPUs": (
        [mine(2, cpu=0), mate(2)],
        (running("m", "mate", gpu=4),),
        {GPUS: 2, CPUS: 1},
        {},
    ),
    "victims that end its borrowing, and then the first others": (
        [mine(6), mate(2)],
        (running("a", gpu=2), running("b", gpu=3), *(running(f"m{n}", "mate") for n in range(3))),
        {GPUS: 4},
        {"b": OWN, "m0": RECLAIM},
    ),
    "more victims in its queue, if the others release too little": (
        [replace(mine(6), reclaim_within_cohort=LOWER), mate(1), mate(2, "high")],
        (
            running("a", gpu=3),
            running("b", gpu=2, priority=1),
            running("m", "mate", gpu=2),
            running("h", "high", gpu=4, priority=9),
        ),
        {GPUS: 4},
        {"m": RECLAIM, "a": OWN, "b": OWN},
    ),
    "a victim in its queue that leaves anyway, rather than one more of the others": (
        [mine(6), mate(2)],
        (
            running("e", evicted=True),
            running("a", gpu=3),
            *(running(f"m{n}", "mate") for n in range(4)),
        ),
        {GPUS: 5},
        {"e": OWN, "m0": RECLAIM, "a": OWN},
    ),
}


@pytest.mark.parametrize(("queues", "held", "needs", "expected"), CASES.values(), ids=CASES)
def test_victims_with_and_without_borrowing(
    queues: list[ClusterQueue],
    held: tuple[Workload, ...],
    needs: Mapping[FlavorResource, int],
    expected: dict[str, PreemptionReason],
) -> None:
    state = WorkingState(snapshot(queues, *held))
    incoming = workload("in", "q", needs[GPUS], priority=5)
    preemptor = Preemptor(state, incoming, state.queue("q"), state.tree.queues["q"])
    targets = preemptor.targets(needs, {GPUS})
    assert {target.holding.workload.uid: target.reason for target in targets} == expected
