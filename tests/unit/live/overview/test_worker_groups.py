"""Autoscaled gangs in views: workers by group, limits and notices, and the demand of growth."""

from typing import Any

import pytest

from muster.live.eta.growth_range import GrowthRange, annotation
from muster.live.eta.start_range import StartRange
from muster.live.gang_pods import PodListing
from muster.live.named import workload_named
from muster.live.overview.overview import Overview, overview
from muster.live.overview.rows import WorkloadRow, row
from muster.live.overview.tree import queue_tree
from muster.live.overview.why import why
from muster.live.overview.worker_groups import ElasticRow, WorkerGroupRow
from muster.objects.names import GROWTH_ETA_ANNOTATION
from muster.objects.ray import GROUP_LABEL
from tests.simulation.manifests import GPU, ray_job
from tests.unit.controller.builders import NOW_MS, Body
from tests.unit.live.builders import cluster, running, since, waiting
from tests.unit.live.elastic import LIMITED, NOTICE, objects, running_elastic, waiting_elastic
from tests.unit.live.pods import READY, detailed, labelled, pod

EVICTED = running_elastic(shrinking=True)
EVICTED["status"]["conditions"].append(since("Evicted", 1, reason="Preempted"))


def of(workload: Body, **kinds_of: Any) -> tuple[Overview, WorkloadRow]:
    there = overview(cluster(workload, **kinds_of), NOW_MS)
    (observed,) = there.cluster.workloads.values()
    return there, row(there, observed, "team-a")


def group(granted: int, asked: int, most: int | None = 4) -> tuple[WorkerGroupRow, ...]:
    return (WorkerGroupRow("gpu", minimum=1, granted=granted, asked=asked, maximum=most),)


@pytest.mark.parametrize(
    ("workload", "kinds_of", "expected", "reason"),
    [
        pytest.param(running(ray_job("dev")), {}, None, "", id="a fixed size"),
        pytest.param(
            waiting_elastic(), {}, ElasticRow(0, 3, None, group(0, 3)), "WaitingForQuota", id="waits"
        ),
        pytest.param(
            running_elastic(limited=False),
            objects(asked=2),
            ElasticRow(2, 2, 2, group(2, 2)),
            "",
            id="has all that it asks for",
        ),
        pytest.param(
            running_elastic(),
            objects(asked=3, runs=1),
            ElasticRow(2, 3, 1, group(2, 3)),
            "GrowthLimited",
            id="asks for more",
        ),
        pytest.param(
            running_elastic(shrinking=True),
            objects(asked=3, runs=3),
            ElasticRow(2, 3, 3, group(2, 3)),
            "Shrinking",
            id="shrinks",
        ),
        pytest.param(
            running_elastic(most=None, limited=False),
            {},
            ElasticRow(2, 3, None, group(2, 3, None)),
            "",
            id="its RayCluster can't be read, and it has no limit",
        ),
        pytest.param(EVICTED, {}, ElasticRow(2, 3, None, group(2, 3)), "Preempted", id="is being evicted"),
    ],
)
def test_workers_of_a_row(
    workload: Body, kinds_of: dict[str, Any], expected: ElasticRow | None, reason: str
) -> None:
    _, shown = of(workload, **kinds_of)
    assert (shown.elastic, shown.reason) == (expected, reason)


@pytest.mark.parametrize(("granted", "shown"), [(2, True), (1, False)])
def test_growth_of_a_row_is_that_of_its_size(granted: int, shown: bool) -> None:
    growth = GrowthRange("gpu", granted, 1, StartRange(NOW_MS, NOW_MS, NOW_MS, NOW_MS, 20))
    kinds_of = objects()
    kinds_of["RAY_JOBS"][0]["metadata"]["annotations"] = {GROWTH_ETA_ANNOTATION: annotation([growth])}
    assert of(running_elastic(), **kinds_of)[1].growth == ((growth,) if shown else ())
    assert of(EVICTED, **kinds_of)[1].growth == ()


def test_pods_of_a_row_are_those_with_quota() -> None:
    assert of(running_elastic(granted=2))[1].pods == 4  # and a head and a submitter
    assert of(waiting_elastic())[1].pods == 3


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        (running_elastic(), [f"{LIMITED}."]),
        (running_elastic(shrinking=True), [f"{NOTICE}.", f"{LIMITED}."]),
        (EVICTED, []),
    ],
)
def test_why_repeats_the_notice_and_the_limit(workload: Body, expected: list[str]) -> None:
    there, _ = of(workload)
    explained = why(there, workload_named("rayjob/scaled", "team-a", there.cluster))
    assert list(explained.size) == expected


def test_why_names_the_replicas_that_would_be_preempted() -> None:
    there = overview(
        cluster(running_elastic(granted=4), waiting(ray_job("prod", priority="prod-priority", workers=2))),
        NOW_MS,
    )
    explained = why(there, workload_named("rayjob/prod", "team-a", there.cluster))
    (target,) = explained.preempts
    assert (target.workload.job, target.replicas) == ("rayjob/scaled", 2)
    assert " by preempting 2 replicas of team-a/rayjob-scaled-" in explained.sentence


def test_why_counts_running_pods_by_group() -> None:
    body = running_elastic()
    labels = labelled(body["metadata"]["uid"]) | {GROUP_LABEL: "gpu"}
    there, _ = of(body, **objects(runs=3))
    worker = pod("w-1", READY, labels=labels | {"ray.io/cluster": "scaled-raycluster"}, phase="Running")
    gated = pod("w-2", labels=labels | {"ray.io/cluster": "scaled-raycluster"}, phase="Pending")
    listing = PodListing((detailed(worker), detailed(gated)))
    shown = why(there, workload_named("rayjob/scaled", "team-a", there.cluster), listing).workload
    assert shown.elastic is not None
    assert (shown.elastic.text, shown.elastic.groups[0].running) == ("2/3/1", 1)


def test_usage_of_a_queue_includes_surplus() -> None:
    there, shown = of(running_elastic(granted=3))
    (root,) = queue_tree(there)
    used = {(column.flavor, column.resource): column.used for column in root.children[0].columns}
    assert used["l4", GPU] == 3
    assert shown.requests[GPU] == 3


@pytest.mark.parametrize(
    ("workload", "asked", "gpus"),
    [(running_elastic(), 3, "1"), (running_elastic(), 2, None), (EVICTED, 4, None)],
)
def test_demand_of_a_queue_includes_growth(workload: Body, asked: int, gpus: str | None) -> None:
    there, _ = of(workload, **objects(asked=asked))
    (root,) = queue_tree(there)
    assert root.demand.texts.get(GPU) == gpus
