"""Tests of the preemption seen in pods: production has none before those of training have terminated."""

import pytest

from sandbox.cluster.kinds import Object
from sandbox.scenarios.training_in_pods import CLUSTER_LABEL, are_gone, pods_of
from tools.toolchain.steps import StepError


def pod(uid: str, cluster: str, phase: str = "Running") -> Object:
    return {"metadata": {"uid": uid, "labels": {CLUSTER_LABEL: cluster}}, "status": {"phase": phase}}


FIRST = {"t1", "t2"}
TRAINING = [pod("t1", "train-a-x1"), pod("t2", "train-a-x1")]
PRODUCTION = [pod("p1", "batch-b-y1")]


@pytest.mark.parametrize(
    ("pods", "gone"),
    [
        pytest.param(TRAINING, False, id="all are left"),
        pytest.param(TRAINING[:1], False, id="one is left"),
        pytest.param([], True, id="none is left"),
        pytest.param([pod("t1", "train-a-x1", "Failed"), *PRODUCTION], False, id="one is being deleted"),
        pytest.param(PRODUCTION, True, id="production follows"),
        pytest.param([pod("t3", "train-a-x2")], True, id="training runs again"),
    ],
)
def test_the_first_pods_are_gone_once_none_is_left(pods: list[Object], gone: bool) -> None:
    assert are_gone(FIRST, "train-a", "batch-b", pods) is gone


def test_production_beside_training_is_an_error() -> None:
    with pytest.raises(StepError, match="batch-b has pods, and 1 pods of train-a"):
        are_gone(FIRST, "train-a", "batch-b", [*TRAINING[:1], *PRODUCTION])


def test_a_job_whose_name_begins_with_anothers_has_its_own_pods() -> None:
    assert pods_of("train", [pod("u", "train-a-x1"), pod("v", "trains-x1")]) == {"u"}


def test_an_engine_may_start_production_before_the_end_of_training() -> None:
    assert not are_gone(FIRST, "train-a", None, [*TRAINING[:1], *PRODUCTION])
