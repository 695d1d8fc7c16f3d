"""KubeRay and the controller are killed and deleted while Ray jobs start and preempt each other."""

from __future__ import annotations

import sys

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.storm.real_storm import storm_on_real_nodes
from tools.toolchain.paths import RunState

SECONDS = 120.0
FAULTS = (
    "delete a pod of KubeRay",
    "delete a pod of the controller",
    "kill a container of KubeRay",
    "kill a container of the controller",
)


@pytest.mark.parametrize("seed", [1])
def test_no_job_is_lost_or_doubled_while_the_platform_restarts(
    seed: int, state: RunState, kubectl: Kubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = storm_on_real_nodes(state, kubectl, SECONDS, seed, sys.stdout, FAULTS)
    assert wrong == [], "\n".join(wrong)
    *_, last = capsys.readouterr().out.splitlines()
    assert "; 0 preempted" not in last, last
