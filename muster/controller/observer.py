"""What the controller tells of its work to whoever wants to count it."""

from collections.abc import Sequence
from dataclasses import dataclass

from muster.controller.actions import Step
from muster.controller.reconcile import Pass
from muster.controller.world import World
from muster.kube.client import WriteError
from muster.kube.writes import Write


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
