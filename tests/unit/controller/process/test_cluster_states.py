"""Tests how often passes examine everything."""

from random import Random

import pytest

from muster.cluster.jobs.pod_checks import PodChecks
from muster.controller.process.cluster_states import FULL_PASS_INTERVAL_MS, FULL_PASS_SHARE, ClusterStates
from muster.kube.store import Stores
from tests.simulation.api import Api
from tests.simulation.kube import CALM, EmulatedKube


def states() -> ClusterStates:
    kube = EmulatedKube(Api(lambda: 0), Random(0), CALM)
    return ClusterStates(Stores(), PodChecks(kube, lambda: None, lambda: 0.0), lambda: True)


@pytest.mark.parametrize("took_ms", [0, 10, 3000])
def test_passes_that_examine_all_take_a_small_part_of_the_time(took_ms: int) -> None:
    reused = states()
    reused.begin_pass(0)
    reused.decided(took_ms)
    due_ms = took_ms + max(FULL_PASS_INTERVAL_MS, FULL_PASS_SHARE * took_ms)
    assert not is_full(reused, due_ms - 1)
    reused.decided(due_ms)
    assert is_full(reused, due_ms + 1)


def is_full(reused_states: ClusterStates, at_ms: int) -> bool:
    marks = reused_states.begin_pass(at_ms).marks
    return marks is not None and marks.full
