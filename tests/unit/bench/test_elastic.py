"""The load of autoscaled RayClusters: its changes, what counts as granted, and what its table says."""

from itertools import pairwise
from math import inf
from typing import Any

import msgspec
import pytest

from muster.kube.kinds import WORKLOADS
from muster.objects.kueue import Workload
from tests.bench.elastic import OVERTAKEN, Resized, compared
from tests.bench.ray_jobs import GROUP
from tests.bench.resize_stream import SIZES, Resizes, Sizing, granted_workers

HUNDRED = Resizes(clusters=100, rounds=9)


def test_each_change_is_one_within_the_limits() -> None:
    for number, (_, first) in enumerate(HUNDRED.first_sizes.items()):
        sizes = [first, *(HUNDRED.workers(number, turn) for turn in range(HUNDRED.rounds))]
        assert all(1 <= size <= SIZES for size in sizes)
        assert all(size != following for size, following in pairwise(sizes))


def workload(spec: int, admitted: int, **annotations: str) -> Workload:
    head = {"name": "head", "count": 1}
    value: dict[str, Any] = {
        "metadata": {"name": "w", "namespace": "bench", "annotations": annotations},
        "spec": {"podSets": [{**p, "template": {}} for p in (head, {"name": GROUP, "count": spec})]},
        "status": {
            "admission": {
                "clusterQueue": "bench",
                "podSetAssignments": [head, {"name": GROUP, "count": admitted}],
            }
        },
    }
    return WORKLOADS.decoder.decode(msgspec.json.encode(value))


@pytest.mark.parametrize(
    ("value", "workers"),
    [
        pytest.param(workload(1, 5), 5, id="Muster's, whose spec has the minimum"),
        pytest.param(workload(5, 5, **{"kueue.x-k8s.io/elastic-job": "true"}), 5, id="Kueue's"),
        pytest.param(workload(2, 5, **{"kueue.x-k8s.io/elastic-job": "true"}), 2, id="Kueue's, shrunk"),
    ],
)
def test_granted_workers_are_those_with_quota(value: Workload, workers: int) -> None:
    assert granted_workers(value) == workers


def sizing(granted: int, overtaken: int) -> Sizing:
    """Returns the times of changes that were granted after as many seconds as their number."""
    return Sizing(HUNDRED, [float(n) for n in range(granted)], [0.0, 0.1], overtaken, took_s=90.0)


@pytest.mark.parametrize(
    ("value", "p50", "p99"),
    [
        pytest.param(sizing(100, 0), 50.0, 99.0, id="all are granted"),
        pytest.param(sizing(90, 10), 50.0, inf, id="some are overtaken"),
        pytest.param(sizing(0, 0), inf, inf, id="none was asked for"),
    ],
)
def test_a_change_that_is_overtaken_counts_as_never_granted(value: Sizing, p50: float, p99: float) -> None:
    assert (value.wait_s(50), value.wait_s(99)) == (p50, p99)


def test_the_table_compares_with_kueue() -> None:
    ours = Resized(sizing(891, 9), engine_cpu_s=9.0, api_cpu_s=18.0, rss_mb=60.0, workloads=100)
    peer = Resized(sizing(900, 0), engine_cpu_s=18.0, api_cpu_s=18.0, rss_mb=120.0, workloads=400)
    rows = [figure.row() for figure in compared(ours, peer)]
    assert (OVERTAKEN, "1 %", "", "0 %", "") in rows
    assert ("CPU of the engine", "10 ms a change", "", "20 ms a change", "0.50") in rows
    assert ("Workloads at the end", "100", "", "400", "0.25") in rows
