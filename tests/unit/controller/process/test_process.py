"""The controller's process: probes, exit codes, and metrics that never break a decision."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from muster.cluster.cluster_state import ClusterState
from muster.configuration.address import Address
from muster.configuration.configuration import DEFAULT
from muster.controller.metrics.gauges import WatchAges
from muster.controller.metrics.metrics import Metrics
from muster.controller.metrics.observer import (
    Background,
    CompletedPass,
    Observer,
    Observers,
)
from muster.controller.passes.pass_plan import PassPlan
from muster.controller.process import process
from muster.controller.process.health import Health, Probe
from muster.controller.process.loop import Controller
from muster.controller.process.process import Options, alive, journal_writer, ready
from muster.kube import kinds
from muster.kube.client import Kube, NotLeading, WriteError
from muster.kube.history import History
from muster.kube.writes import Delete, Write


class Stub:
    """A controller's health."""

    def __init__(self, still_s: float = 0, synced: bool = True, **ages_s: float) -> None:
        self.synced, self._still_s, self._ages_s = synced, still_s, ages_s

    def stalled_ms(self) -> int:
        return round(self._still_s * 1000)

    def watch_ages_s(self) -> dict[str, float]:
        return self._ages_s


# -> alive, ready
HEALTH: dict[str, tuple[Stub, tuple[bool, str], tuple[bool, str]]] = {
    "starting": (
        Stub(synced=False),
        (True, "ok; time since the last event, by watch: none yet"),
        (False, "not synced with the API server yet"),
    ),
    "well": (
        Stub(pods=41.7, workloads=2),
        (True, "ok; time since the last event, by watch: pods 42 s, workloads 2 s"),
        (True, "ok"),
    ),
    "a watch is late": (
        Stub(pods=61, workloads=2),
        (True, "ok; time since the last event, by watch: pods 61 s, workloads 2 s"),
        (False, "no event from the API server for more than 60 s: pods 61 s"),
    ),
    "blind": (
        Stub(pods=301, workloads=2),
        (False, "no event from the API server for more than 300 s: pods 301 s"),
        (False, "no event from the API server for more than 60 s: pods 301 s"),
    ),
    "slow": (
        Stub(still_s=300),
        (True, "ok; time since the last event, by watch: none yet"),
        (True, "ok"),
    ),
    "stuck a moment ago": (
        Stub(still_s=300.001),
        (False, "no progress for 300 s"),
        (True, "ok"),
    ),
    "stuck": (Stub(still_s=301), (False, "no progress for 301 s"), (True, "ok")),
}


@pytest.mark.parametrize("name", HEALTH)
def test_probes_report_late_watches_and_stuck_passes(name: str) -> None:
    stub, is_alive, is_ready = HEALTH[name]
    controller = cast("Controller", stub)
    assert (tuple(alive(controller)), tuple(ready(controller))) == (is_alive, is_ready)


def test_watch_ages_are_metrics() -> None:
    (family,) = WatchAges(lambda: {"pods": 3.5}).collect()
    assert [(s.name, s.labels, s.value) for s in family.samples] == [
        ("muster_watch_age_seconds", {"watch": "pods"}, 3.5)
    ]


class Broken(Metrics):
    def passed(self, passed: CompletedPass) -> None:
        raise OverflowError("int too large to convert to float")

    def wrote(self, write: Write, error: WriteError | None) -> None:
        raise ValueError("no such label")


def test_errors_of_metrics_are_counted_and_contained(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Broken(lambda: True)
    fail_safe: Observer = Observers(metrics)
    fail_safe.passed(CompletedPass(ClusterState(), PassPlan(), (), 0, 0))
    fail_safe.wrote(Delete(kinds.PODS, "team-a/pod"), None)
    assert metrics.registry.get_sample_value("muster_metrics_errors_total") == 2
    assert [r.getMessage() for r in caplog.records] == [
        "metrics of a pass are lost",
        "metrics of delete Pod team-a/pod are lost",
    ]


def test_observers_do_not_notice_errors_of_each_other() -> None:
    broken, working = Broken(lambda: True), Metrics(lambda: True)
    both = Observers(broken, working)
    both.passed(CompletedPass(ClusterState(), PassPlan(), (), 0, 0))
    both.wrote(Delete(kinds.PODS, "team-a/pod"), None)
    assert broken.registry.get_sample_value("muster_metrics_errors_total") == 2
    written = {"kind": "Pod", "verb": "delete", "result": "done"}
    assert working.registry.get_sample_value("muster_writes_total", written) == 1
    assert working.registry.get_sample_value("muster_pass_duration_seconds_count") == 1


OPTIONS = Options(None, "muster-system/muster-controller", "pod-1", Address("", 8080), DEFAULT)


def test_journal_is_kept_in_the_folder(tmp_path: Path) -> None:
    journal = journal_writer(replace(OPTIONS, journal=tmp_path / "journal"), Metrics(lambda: True))
    assert journal is not None
    journal.put(b"a\n")
    journal.stop()
    (file,) = (tmp_path / "journal").iterdir()
    assert ".pod-1." in file.name
    assert file.read_bytes() == b"a\n"


def test_no_journal_is_kept_without_a_folder() -> None:
    assert journal_writer(OPTIONS, Metrics(lambda: True)) is None


def test_records_that_the_journal_drops_and_its_failures_are_counted(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    metrics = Metrics(lambda: True)
    journal = journal_writer(replace(OPTIONS, journal=tmp_path / "file"), metrics)
    assert journal is not None
    journal.put(b"a\n")
    journal.stop()
    assert metrics.registry.get_sample_value("muster_journal_failures_total") == 1
    assert metrics.registry.get_sample_value("muster_journal_lost_records_total") == 1


def test_the_controller_contains_errors_of_its_observers() -> None:
    kube, broken = cast(Kube, None), Broken(lambda: True)
    Controller(kube, observers=[broken])._observers.wrote(Delete(kinds.PODS, "team-a/pod"), None)
    assert broken.registry.get_sample_value("muster_metrics_errors_total") == 1


class Connection:
    def __init__(self) -> None:
        self.closed = False

    async def close(self) -> None:
        self.closed = True


class Process:
    """The parts that `run` connects: two clients, an election and a controller."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, lost: bool = False, ends: bool = True) -> None:
        self.connections: list[Connection] = []
        self.lost, self.ends = lost, ends
        self.stopped = asyncio.Event()
        self.answers: dict[str, Health] = {}
        self.metrics_text = ""
        parts = {"Kube": self._kube, "ElectionThread": self._election, "Controller": self._controller}
        parts |= {"StreamThread": self._stream_thread, "access": lambda kubeconfig: kubeconfig}
        for name, part in {**parts, "served": self._served}.items():
            monkeypatch.setattr(process, name, part)

    def _stream_thread(self, access: str) -> Any:
        assert access == "a kubeconfig"
        self.streams = SimpleNamespace(begun=contextlib.nullcontext)
        return self.streams

    def _kube(
        self, kubeconfig: str | None, write_seconds: object = None, streams: object = None
    ) -> Connection:
        assert kubeconfig == "a kubeconfig"
        assert (write_seconds is None) is (streams is None), "renewals watch nothing"
        self.connections.append(Connection())
        return self.connections[-1]

    def _election(self, own: Connection, lease: str, identity: str, *, history: History, **_: object) -> Any:
        self.history = history
        assert (own, lease, identity) == (self.connections[0], "muster-system/muster", "pod-1")
        return SimpleNamespace(is_leader=True, write_seconds=lambda: 10.0, begun=lambda: self._begun(own))

    @contextlib.asynccontextmanager
    async def _begun(self, own: Connection) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await own.close()

    def _controller(self, kube: Connection, *_: object, history: History) -> Any:
        assert history is self.history, "the election's"
        assert kube is self.connections[1], "renewals have their own connection"
        return SimpleNamespace(
            run=self._run,
            stop=self.stopped.set,
            synced=True,
            stalled_ms=lambda: 0,
            watch_ages_s=lambda: {"pods": 3.0},
        )

    async def _run(self) -> None:
        if self.lost:
            raise ExceptionGroup("tasks", [NotLeading("another one leads")])
        if self.ends:
            os.kill(os.getpid(), signal.SIGTERM)
        await self.stopped.wait()

    @contextlib.contextmanager
    def _served(
        self, address: Address, probes: Mapping[str, Probe], registry: CollectorRegistry
    ) -> Iterator[None]:
        assert address == Address("", 8080)
        self.answers = {path: probe() for path, probe in probes.items()}
        self.metrics_text = generate_latest(registry).decode()
        yield

    def run(self, background: Background | None = None) -> int:
        options = Options("a kubeconfig", "muster-system/muster", "pod-1", Address("", 8080), DEFAULT)
        if background is not None:
            options = replace(options, background=lambda metrics: background)
        return asyncio.run(process.run(options))


def test_it_exits_with_0_on_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    started = Process(monkeypatch)
    assert started.run() == 0
    assert [connection.closed for connection in started.connections] == [True, True]


def test_it_exits_with_1_when_it_loses_leadership(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """So that the kubelet restarts it."""
    started = Process(monkeypatch, lost=True)
    assert started.run() == 1
    assert caplog.messages == ["another one leads"]
    assert [connection.closed for connection in started.connections] == [True, True]


def test_probes_and_metrics_are_served_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    started = Process(monkeypatch)
    started.run()
    assert started.answers == {
        "/healthz": Health(True, "ok; time since the last event, by watch: pods 3 s"),
        "/readyz": Health(True, "ok"),
    }
    lines = started.metrics_text.splitlines()
    assert "muster_leader 1.0" in lines
    assert 'muster_watch_age_seconds{watch="pods"} 3.0' in lines
    assert not any("_created" in line for line in lines)


class Works(Background):
    """Works until cancelled, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.kube, self.cancelled = error, None, False

    async def run(self, kube: Any) -> None:
        self.kube = kube
        if self.error is not None:
            raise self.error
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled = True


def test_work_beside_the_passes_writes_as_leader_and_ends_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    started, works = Process(monkeypatch, ends=False), Works()
    monkeypatch.setattr(started, "_run", lambda: asyncio.sleep(0.01))
    assert started.run(works) == 0
    assert works.kube is started.connections[1]
    assert works.cancelled


def test_work_beside_the_passes_that_fails_ends_nothing_else(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    started = Process(monkeypatch, ends=False)
    monkeypatch.setattr(started, "_run", lambda: asyncio.sleep(0.01))
    assert started.run(Works(ValueError("a bug"))) == 0
    assert caplog.messages == ["the background task has failed"]
