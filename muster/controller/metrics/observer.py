"""The interface through which the controller reports passes and writes, for example to metrics."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from muster.cluster.cluster_state import ClusterState
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.passes.pass_plan import PassPlan
from muster.forecast.estimate_outcome import EstimateOutcome
from muster.kube.client import Kube, WriteError
from muster.kube.writes import Write

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CompletedPass:
    """A pass after its writes."""

    # At the beginning of the pass.
    cluster: ClusterState
    plan: PassPlan
    # The writes that succeeded.
    done: Sequence[PlannedWrite]
    # The time of the decision.
    now_ms: int
    # The duration of the pass with its writes.
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

    def estimates(self, uid: str) -> Sequence[EstimateOutcome]:
        """Returns the estimates of a Workload's start, for the journal."""
        return ()


class Observers(Observer):
    """Reports to several observers. An error of an observer is logged, and counted by it; it affects neither
    the other observers nor the controller."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def passed(self, passed: CompletedPass) -> None:
        for observer in self._observers:
            try:
                observer.passed(passed)
            except Exception:
                _report(observer, "a pass")

    def wrote(self, write: Write, error: WriteError | None) -> None:
        for observer in self._observers:
            try:
                observer.wrote(write, error)
            except Exception:
                _report(observer, str(write))


def _report(observer: Observer, subject: str) -> None:
    log.exception("metrics of %s are lost", subject)
    observer.failed()
