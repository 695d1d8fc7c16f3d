"""Estimates of growth on queued pools: the nodes that worker groups wait for."""

import pytest

from muster.configuration.configuration import DEFAULT
from muster.forecast.assumptions import Assumptions
from muster.forecast.growth_estimates import estimates
from muster.forecast.report.text import duration
from muster.forecast.simulation.worker_group import NextNodes
from muster.live.report import growth_sentence
from muster.live.state import live_state
from muster.live.workloads import elastic_sizes
from tests.simulation.manifests import provisioning
from tests.unit.controller.builders import NOW_MS
from tests.unit.controller.queued_gangs import KEY, QueuedGang, growth, growth_name

MINUTE_MS = 60_000
NODES = Assumptions(provisioning_median_s=300, provisioning_spread=0, limit_share=1)

REQUESTED = QueuedGang(granted=6, requests=(growth("Accepted", ago_s=60),))
REFUSED = QueuedGang(requests=(growth("Failed", ago_s=10),), platform=provisioning(base_s=60))


@pytest.mark.parametrize(
    ("gang", "nodes"),
    [
        pytest.param(QueuedGang(), {}, id="no growth"),
        pytest.param(
            REQUESTED, {"gpu": NextNodes(4, NOW_MS - MINUTE_MS, growth_name())}, id="nodes are requested"
        ),
        pytest.param(
            QueuedGang(granted=6, requests=(growth("Provisioned"),)), {}, id="nodes are provisioned"
        ),
        pytest.param(REFUSED, {"gpu": NextNodes(0, NOW_MS + 50_000, growth_name())}, id="nodes were refused"),
    ],
)
def test_nodes_that_growth_waits_for(gang: QueuedGang, nodes: dict[str, NextNodes]) -> None:
    assert elastic_sizes(gang.cluster(), NOW_MS)[KEY].nodes == nodes


@pytest.mark.parametrize(
    ("gang", "granted", "workers", "in_ms", "request_name"),
    [
        pytest.param(REQUESTED, 2, 4, 4 * MINUTE_MS, growth_name(), id="nodes are requested"),
        pytest.param(REFUSED, 2, 1, 50_000 + 5 * MINUTE_MS, "", id="nodes were refused"),
    ],
)
def test_growth_is_expected_with_its_nodes(
    gang: QueuedGang, granted: int, workers: int, in_ms: int, request_name: str
) -> None:
    state = live_state(gang.cluster(), DEFAULT, NOW_MS)
    assert state.workloads[KEY].may_grow
    ((of,),) = estimates(state, [], [KEY], NODES, [0]).growth.values()
    assert (of.group, of.granted, of.pods, of.request) == ("gpu", granted, workers, request_name)
    assert of.time.starts_ms == [NOW_MS + in_ms]
    beyond = f"2 workers{f' with nodes, by ProvisioningRequest {request_name}' if request_name else ''}"
    after = duration(in_ms / 1000)
    sentence = f"Growth of group gpu beyond {beyond}: {workers} more in {after} ({after} to {after})"
    assert growth_sentence(of).startswith(sentence)
