"""`muster try` of autoscaled jobs: the minimum that starts, and the growth that fits then."""

from typing import Any

import pytest

from muster.live.growth import GroupGrowth
from muster.live.verdict import VerdictKind
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import Body
from tests.unit.live.builders import cluster, running, tried, waiting
from tests.unit.live.elastic import elastic

HALF = running(ray_job("dev", workers=2))
BUSY = running(ray_job("dev", workers=4))


@pytest.mark.parametrize(
    ("others", "sizes", "answer", "fits"),
    [
        pytest.param((), {}, VerdictKind.FITS, 3, id="all that it asks for"),
        pytest.param((), {"replicas": 9, "most": 12}, VerdictKind.FITS, 4, id="as much as is free"),
        pytest.param((), {"replicas": 9, "most": 2}, VerdictKind.FITS, 2, id="at most its own limit"),
        pytest.param((HALF,), {"replicas": 9, "most": 12}, VerdictKind.FITS, 2, id="what others leave"),
        pytest.param(
            (HALF, waiting(ray_job("gang", workers=1), "PendingEvaluation")),
            {"replicas": 9, "most": 12},
            VerdictKind.FITS,
            1,
            id="a gang that waits goes first",
        ),
        pytest.param((BUSY,), {}, VerdictKind.WAITS, None, id="it waits"),
    ],
)
def test_growth_right_after_the_start(
    others: tuple[Body, ...], sizes: dict[str, Any], answer: VerdictKind, fits: int | None
) -> None:
    decided, _, _ = tried(elastic(**sizes), cluster(*others))
    assert decided.answer is answer
    assert [group.fits for group in decided.growth] == ([] if fits is None else [fits])


def test_gang_with_admission_checks_keeps_its_minimum() -> None:
    decided, _, _ = tried(elastic(), cluster(check=True))
    assert decided.growth == (GroupGrowth("gpu", 1, 3, 1),)


def test_gang_of_a_fixed_size_does_not_grow() -> None:
    assert tried(ray_job("new"), cluster())[0].growth == ()


@pytest.mark.parametrize(
    ("group", "sentence"),
    [
        (GroupGrowth("gpu", 2, 2, 2), "Group gpu starts with 2 workers of the 2 that it asks for."),
        (
            GroupGrowth("gpu", 1, 6, 4),
            "Group gpu starts with 1 worker of the 6 that it asks for, and grows to 4 right after.",
        ),
        (
            GroupGrowth("gpu", 2, 6, 2),
            "Group gpu starts with 2 workers of the 6 that it asks for, and does not grow right after.",
        ),
    ],
)
def test_sentence_about_a_group(group: GroupGrowth, sentence: str) -> None:
    assert group.sentence == sentence
