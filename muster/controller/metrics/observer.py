"""The interface through which the controller reports passes and writes, for example to metrics."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from muster.cluster.cluster_state import ClusterState
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.passes.pass_plan import PassPlan
from muster.kube.client import Kube, WriteError
from muster.kube.writes import Write

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CompletedPass:
    """The cluster, the plan and the successful writes (`done`) of a pass."""

    cluster: ClusterState
    plan: PassPlan
    done: Sequence[PlannedWrite]
    now_ms: int
    took_ms: int


class Observer:
    """The base of observers; ignores every report."""

    def passed(self, passed: CompletedPass) -> None:
        """Called after each pass."""

    def wrote(self, write: Write, error: WriteError | None) -> None:
        """Called after each write, with its error if it failed."""

    def failed(self) -> None:
        """Called when another method raised an exception."""


class Background(Observer):
    """An observer with a background task."""

    async def run(self, kube: Kube) -> None:
        """Runs until cancelled."""


class Observers(Observer):
    """Reports to several observers; an error of one does not affect the others."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = tuple(FailSafeObserver(observer) for observer in observers)

    def passed(self, passed: CompletedPass) -> None:
        for observer in self._observers:
            observer.passed(passed)

    def wrote(self, write: Write, error: WriteError | None) -> None:
        for observer in self._observers:
            observer.wrote(write, error)


class FailSafeObserver(Observer):
    """Wraps an observer; logs and counts its errors instead of propagating them to the controller."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def passed(self, passed: CompletedPass) -> None:
        try:
            self._observer.passed(passed)
        except Exception:
            self._report("a pass")

    def wrote(self, write: Write, error: WriteError | None) -> None:
        try:
            self._observer.wrote(write, error)
        except Exception:
            self._report(str(write))

    def _report(self, subject: str) -> None:
        log.exception("metrics of %s are lost", subject)
        self._observer.failed()
