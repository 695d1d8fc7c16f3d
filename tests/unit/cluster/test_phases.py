"""Phases of Workloads, and what may follow what."""

import pytest
from msgspec.structs import replace

from muster.admission import Admission
from muster.cluster.jobs.job import JobOutcome
from muster.cluster.phases import DESCRIPTIONS, TRANSITIONS, Phase, Transition, may_follow, phase
from muster.controller.workload import transitions
from muster.objects.kueue import WorkloadStatus

NOW_MS = 1_000_000
ADMISSION = Admission("team-a", ())

PENDING = WorkloadStatus()
RESERVED = transitions.reserve(PENDING, ADMISSION, ["capacity"], NOW_MS)
ADMITTED = transitions.reserve(PENDING, ADMISSION, [], NOW_MS)
EVICTED = transitions.evict(ADMITTED, "PodsReadyTimeout", "late", NOW_MS)
BACK_OFF = transitions.release(EVICTED, NOW_MS)
FINISHED = transitions.finish(ADMITTED, JobOutcome(True, "done"), NOW_MS)

PHASES: dict[str, tuple[WorkloadStatus, Phase]] = {
    "created": (PENDING, Phase.PENDING),
    "tried without success": (
        transitions.wait(PENDING, "WaitingForQuota", "no quota", NOW_MS),
        Phase.PENDING,
    ),
    "reserved, with a pending check": (RESERVED, Phase.QUOTA_RESERVED),
    "reserved without checks": (ADMITTED, Phase.ADMITTED),
    "evicted": (EVICTED, Phase.EVICTED),
    "released after a timeout": (BACK_OFF, Phase.BACK_OFF),
    "released after a preemption": (
        transitions.release(transitions.preempt(ADMITTED, "InClusterQueue", "why", NOW_MS), NOW_MS),
        Phase.PENDING,
    ),
    "requeued": (transitions.requeued(BACK_OFF, "Requeued", "again", NOW_MS), Phase.PENDING),
    "finished while it holds quota": (FINISHED, Phase.FINISHED),
    "unset by its creator": (
        transitions.wait(replace(EVICTED, admission=None), "Pending", "by its creator", NOW_MS),
        Phase.EVICTED,
    ),
    "unset by its creator, with its admission": (
        transitions.wait(EVICTED, "Pending", "as it was evicted", NOW_MS),
        Phase.EVICTED,
    ),
    "unset by its creator, and released": (
        transitions.release(transitions.wait(EVICTED, "Pending", "by its creator", NOW_MS), NOW_MS),
        Phase.BACK_OFF,
    ),
}


@pytest.mark.parametrize("name", PHASES)
def test_a_status_is_in_a_phase(name: str) -> None:
    status, expected = PHASES[name]
    assert phase(status) is expected


TAKEN: dict[str, tuple[WorkloadStatus, WorkloadStatus]] = {
    "reserve": (PENDING, RESERVED),
    "sync_admitted": (RESERVED, ADMITTED),
    "evict": (ADMITTED, EVICTED),
    "preempt": (RESERVED, transitions.preempt(RESERVED, "InClusterQueue", "why", NOW_MS)),
    "release": (EVICTED, BACK_OFF),
    "finish": (BACK_OFF, transitions.finish(BACK_OFF, JobOutcome(False, "failed"), NOW_MS)),
    "requeued": (BACK_OFF, transitions.requeued(BACK_OFF, "Requeued", "again", NOW_MS)),
}


def test_each_declared_transition_is_tried() -> None:
    assert {declared.name for declared in TRANSITIONS} == TAKEN.keys()
    assert DESCRIPTIONS.keys() == set(Phase)


@pytest.mark.parametrize("declared", TRANSITIONS, ids=lambda declared: declared.name)
def test_a_transition_leads_where_it_declares(declared: Transition) -> None:
    before, after = TAKEN[declared.name]
    assert phase(before) in declared.sources
    assert phase(after) in declared.targets
    assert declared.summary


PAIRS: dict[str, tuple[Phase, Phase, bool]] = {
    "nothing changes": (Phase.FINISHED, Phase.FINISHED, True),
    "one transition": (Phase.PENDING, Phase.ADMITTED, True),
    "requeued and admitted in one pass": (Phase.BACK_OFF, Phase.ADMITTED, True),
    "released and admitted in one pass": (Phase.EVICTED, Phase.QUOTA_RESERVED, True),
    "quota is not released before its pods are deleted": (Phase.ADMITTED, Phase.PENDING, False),
    "reserved quota is not dropped either": (Phase.QUOTA_RESERVED, Phase.BACK_OFF, False),
    "a back-off follows an eviction": (Phase.PENDING, Phase.BACK_OFF, False),
    "the end is final": (Phase.FINISHED, Phase.PENDING, False),
}


@pytest.mark.parametrize("name", PAIRS)
def test_phases_follow_declared_transitions(name: str) -> None:
    before, after, expected = PAIRS[name]
    assert may_follow(before, after) is expected
