"""`muster try` of autoscaled jobs: the minimum that starts, and the growth that fits then."""

from typing import Any

import pytest
from msgspec.structs import replace

from muster.admission import PreemptionReason
from muster.configuration.configuration import Configuration
from muster.forecast.assumptions import Assumptions
from muster.forecast.start_estimates import estimated_start
from muster.kube import kinds
from muster.live.growth import GroupGrowth
from muster.live.state import live_state
from muster.live.verdict import Shrink, VerdictKind
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import NOW_MS, Body
from tests.unit.live.builders import cluster, running, tried, waiting
from tests.unit.live.elastic import elastic, running_elastic

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


def test_gang_on_a_queued_pool_grows_as_nodes_are_provisioned() -> None:
    decided, _, _ = tried(elastic(), cluster(check=True))
    assert decided.growth == (GroupGrowth("gpu", 1, 3, 3, queued=True),)


def test_gang_with_another_admission_check_keeps_its_minimum() -> None:
    there = cluster(check=True)
    (check,) = there.checks.values()
    spec = replace(check.spec, controller_name="example.com/cost")
    there = there.with_objects(kinds.CHECKS, {check.key: replace(check, spec=spec)})
    decided, _, _ = tried(elastic(), there)
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
            GroupGrowth("gpu", 1, 6, 4, queued=True),
            "Group gpu starts with 1 worker of the 6 that it asks for, and grows to 4 once the nodes are "
            "provisioned.",
        ),
        (
            GroupGrowth("gpu", 2, 6, 2),
            "Group gpu starts with 2 workers of the 6 that it asks for, and does not grow right after.",
        ),
    ],
)
def test_sentence_about_a_group(group: GroupGrowth, sentence: str) -> None:
    assert group.sentence == sentence


def test_production_preempts_surplus_of_an_autoscaled_gang() -> None:
    there = cluster(running_elastic(granted=4, replicas=4))
    prod = ray_job("prod", priority="prod-priority", workers=2)
    decided, _, _ = tried(prod, there)
    key = next(iter(there.workloads))
    assert decided.answer is VerdictKind.PREEMPTS
    assert decided.preemptions == ()
    assert decided.shrinks == (Shrink(key, 2, PreemptionReason.IN_CLUSTER_QUEUE),)
    assert decided.preempted == f"2 replicas of {key}"


def test_production_preempts_the_whole_gang_if_surplus_does_not_suffice() -> None:
    there = cluster(running_elastic(granted=4, replicas=4))
    prod = ray_job("prod", priority="prod-priority", workers=4)
    decided, _, _ = tried(prod, there)
    assert ([p.workload for p in decided.preemptions], decided.shrinks) == (list(there.workloads), ())
    assert decided.preempted == "one workload"


@pytest.mark.parametrize(("granted", "waits"), [(1, False), (4, True)])
def test_estimated_start_waits_for_the_surplus_of_others(granted: int, waits: bool) -> None:
    holder = running_elastic(granted=granted, replicas=4)
    holder["spec"]["maximumExecutionTimeSeconds"] = 3_600
    new = waiting(ray_job("new", workers=2))
    state = live_state(cluster(holder, new), Configuration(), NOW_MS)
    key = f"team-a/{new['metadata']['name']}"
    (start_ms,) = estimated_start(state, key, Assumptions(start_up_s=0, limit_share=1), [0]).starts_ms
    assert start_ms is not None
    assert (start_ms > NOW_MS) is waits
