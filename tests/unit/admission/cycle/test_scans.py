"""Tests which heads remember where their search for flavors ended."""

import pytest

from muster.admission import PreemptionPolicy, Rules
from muster.admission.cycle.entry import EntryOutcome
from tests.unit.admission.builders import GPU, queue, running, snapshot, workload
from tests.unit.admission.cycle.scenes import cycle, outcomes

KEEP, FORGET = Rules(), Rules(keep_flavor_scan=False)
RECLAIMING = {"cohort": "ml", "reclaim_within_cohort": PreemptionPolicy.ANY}
SCENE = snapshot(
    [
        queue("a", {"l4": {GPU: 0}}, cohort="ml"),
        queue("b", {"l4": {GPU: 2}}, **RECLAIMING),
        queue("c", {"l4": {GPU: 2}}, **RECLAIMING),
        queue("d", {"t4": {GPU: 1}}),
    ],
    running("r", "a", gpu=4),
    workload("preempting", "b", 2, queued_at_ms=1),
    workload("overlapping", "c", 2, queued_at_ms=2),
    workload("too large", "d", 2, queued_at_ms=3),
)
EXPECTED = {
    "preempting": EntryOutcome.PREEMPTING,
    "overlapping": EntryOutcome.OVERLAPPING,
    "too large": EntryOutcome.NO_FIT,
}


@pytest.mark.parametrize(
    ("rules", "remember"),
    [(KEEP, {"overlapping", "too large"}), (FORGET, {"too large"})],
    ids=["kept", "not kept where others were the cause"],
)
def test_head_keeps_its_flavor_scan(rules: Rules, remember: set[str]) -> None:
    entries = cycle(SCENE, rules)
    assert outcomes(entries) == EXPECTED
    assert {name for name, entry in entries.items() if entry.scan is not None} == remember
