"""What the probes answer, and that no metric can stand in the way of a decision."""

from typing import Any, cast

import pytest

from muster.controller.gauges import WatchAges
from muster.controller.loop import Controller
from muster.controller.metrics import Metrics
from muster.controller.observer import Guarded, Observer, Passed
from muster.controller.process import alive, ready
from muster.controller.reconcile import Pass
from muster.controller.world import World
from muster.kube import kinds
from muster.kube.client import WriteError
from muster.kube.writes import Delete, Write


class Stub:
    """A controller's health."""

    def __init__(self, still_s: float = 0, synced: bool = True, **ages_s: float) -> None:
        self.synced, self._still_s, self._ages_s = synced, still_s, ages_s

    def still_for_ms(self) -> int:
        return round(self._still_s * 1000)

    def watch_ages_s(self) -> dict[str, float]:
        return self._ages_s


# -> alive, ready
HEALTH: dict[str, tuple[Stub, tuple[bool, str], tuple[bool, str]]] = {
    "starting": (
        Stub(synced=False),
        (True, "ok; last word of the API server, by watch: none yet"),
        (False, "not in step with the API server yet"),
    ),
    "well": (
        Stub(pods=41.7, workloads=2),
        (True, "ok; last word of the API server, by watch: pods 42 s, workloads 2 s"),
        (True, "ok"),
    ),
    "a watch is late": (
        Stub(pods=61, workloads=2),
        (True, "ok; last word of the API server, by watch: pods 61 s, workloads 2 s"),
        (False, "the API server was not heard of for more than 60 s: pods 61 s"),
    ),
    "blind": (
        Stub(pods=301, workloads=2),
        (False, "the API server was not heard of for more than 300 s: pods 301 s"),
        (False, "the API server was not heard of for more than 60 s: pods 301 s"),
    ),
    "stuck": (Stub(still_s=301), (False, "nothing has moved for 301 s"), (True, "ok")),
}


@pytest.mark.parametrize("name", HEALTH)
def test_health(name: str) -> None:
    stub, is_alive, is_ready = HEALTH[name]
    controller = cast("Controller", stub)
    assert (tuple(alive(controller)), tuple(ready(controller))) == (is_alive, is_ready)


def test_ages_are_told_as_metrics() -> None:
    (family,) = WatchAges(lambda: {"pods": 3.5}).collect()
    assert [(s.name, s.labels, s.value) for s in family.samples] == [
        ("muster_watch_age_seconds", {"watch": "pods"}, 3.5)
    ]


class Broken(Metrics):
    def passed(self, passed: Passed) -> None:
        raise OverflowError("int too large to convert to float")

    def wrote(self, write: Write, error: WriteError | None) -> None:
        raise ValueError("no such label")


def test_errors_of_metrics_are_counted_and_go_no_further(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Broken(lambda: True)
    guarded: Observer = Guarded(metrics)
    guarded.passed(Passed(World(), Pass(), (), 0, 0))
    guarded.wrote(Delete(kinds.PODS, "team-a/pod"), None)
    assert metrics.registry.get_sample_value("muster_metrics_errors_total") == 2
    assert [r.getMessage() for r in caplog.records] == [
        "metrics of a pass are lost",
        "metrics of delete Pod team-a/pod are lost",
    ]


def test_the_controller_guards_its_observer() -> None:
    kube: Any = None
    assert isinstance(Controller(kube, observer=Broken(lambda: True))._observer, Guarded)
