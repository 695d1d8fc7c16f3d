"""What the controller tells of its work to whoever wants to count it."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from muster.controller.actions import Step
from muster.controller.reconcile import Pass
from muster.controller.world import World
from muster.kube.client import WriteError
from muster.kube.writes import Write

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Passed:
    """One pass: the world that it decided on, what it decided, and which of its steps happened."""

    world: World
    result: Pass
    done: Sequence[Step]
    now_ms: int
    took_ms: int


class Observer:
    """Nobody in particular: does nothing with it."""

    def passed(self, passed: Passed) -> None:
        """A pass is through."""

    def wrote(self, write: Write, error: WriteError | None) -> None:
        """A write was carried out, or was not."""

    def failed(self) -> None:
        """It raised in one of the others."""


class Guarded(Observer):
    """Another observer whose errors are logged and counted: they never reach what is observed."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def passed(self, passed: Passed) -> None:
        try:
            self._observer.passed(passed)
        except Exception:
            self._report("a pass")

    def wrote(self, write: Write, error: WriteError | None) -> None:
        try:
            self._observer.wrote(write, error)
        except Exception:
            self._report(str(write))

    def _report(self, what: str) -> None:
        log.exception("metrics of %s are lost", what)
        self._observer.failed()
