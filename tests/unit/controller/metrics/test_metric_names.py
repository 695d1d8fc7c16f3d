"""The table of metrics and the registry that is made from it."""

import re

import pytest

from muster.controller.metrics.gauges import WatchAges
from muster.controller.metrics.metrics import Metrics
from muster.controller.metrics.spec import COUNTER, HISTOGRAM, Direct, MetricSpec, OfChange, OfPass
from muster.controller.metrics.table import METRICS, WAIT_BUCKETS_S


def exported() -> dict[str, str]:
    """Returns the types of all metrics of the endpoint by name."""
    registry = Metrics(lambda: True).registry
    registry.register(WatchAges(dict))
    return {
        f"{family.name}_total" if family.type == COUNTER else family.name: family.type
        for family in registry.collect()
        if family.name.startswith("muster_")
    }


def test_the_endpoint_exports_the_metrics_of_the_table() -> None:
    assert exported() == {spec.full_name: spec.kind for spec in METRICS}


@pytest.mark.parametrize("spec", METRICS, ids=lambda spec: spec.name)
def test_a_row_of_the_table_is_consistent(spec: MetricSpec) -> None:
    assert spec.name.endswith("_total") is (spec.kind == COUNTER)
    assert bool(spec.buckets) is (spec.kind == HISTOGRAM)
    assert not isinstance(spec.source, Direct) or spec.source.updated_by
    if isinstance(spec.source, OfChange | OfPass):
        assert spec.kind in (COUNTER, HISTOGRAM)
    own = rf"\${spec.name}(_bucket)?\b"
    assert all(re.search(own, chart.query or spec.query) for chart in spec.charts)


@pytest.mark.parametrize(("leads", "value"), [(True, 1.0), (False, 0.0)])
def test_the_leader_gauge(leads: bool, value: float) -> None:
    assert Metrics(lambda: leads).registry.get_sample_value("muster_leader") == value


def test_wait_buckets_reach_almost_a_day_as_in_kueue() -> None:
    assert WAIT_BUCKETS_S[:3] == (1, 2.5, 5)
    assert WAIT_BUCKETS_S[-1] == 2.5 * 2**15
    assert len(WAIT_BUCKETS_S) == 17
