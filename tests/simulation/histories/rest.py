"""Checks at rest: no objects are left, no deleted UIDs are kept in memory, and nothing is busy."""

import gc
import logging
from collections import deque
from collections.abc import Collection, Iterator
from typing import Any

from muster.controller.metrics.observer import CompletedPass, Observer
from muster.controller.pacing.events import RepeatedEvents
from muster.controller.process.loop import Controller
from muster.kube import kinds
from tests.simulation.api import key_of
from tests.simulation.histories.actions import JOB_KINDS
from tests.simulation.invariants import Broken
from tests.simulation.simulation import Simulation

OF_JOBS = (
    kinds.RAY_JOBS,
    kinds.RAY_CLUSTERS,
    kinds.RAY_SERVICES,
    kinds.BATCH_JOBS,
    kinds.JOB_SETS,
    kinds.LEADER_WORKER_SETS,
    kinds.WORKLOADS,
    kinds.PODS,
    kinds.POD_TEMPLATES,
    kinds.PROVISIONING_REQUESTS,
)
CONTAINERS = (dict, list, tuple, set, frozenset, deque)
REST_S = 180.0
PASSES_AT_REST_MAX = 8  # in REST_S; one a minute is usual


class Passes(Observer):
    """Counts the passes of all controllers."""

    count = 0

    def passed(self, passed: CompletedPass) -> None:
        self.count += 1


class Exceptions(logging.Handler):
    """Collects what the controller logs as errors."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(self.format(record))


def leftovers(sim: Simulation) -> list[str]:
    """Returns objects of jobs that still exist."""
    return [f"{kind} {key_of(body)}" for kind in OF_JOBS for body in sim.api.all(kind)]


def gone(sim: Simulation) -> set[str]:
    """Returns the UIDs of all jobs and Workloads that ever existed."""
    ours = (*JOB_KINDS, kinds.WORKLOADS)
    return {c.body["metadata"]["uid"] for kind in ours for c in sim.api.journal[kind] if c.type == "DELETED"}


def remembered(controller: Controller, uids: Collection[str]) -> Iterator[str]:
    """Yields where the controller's memory still holds one of them, as a path of types.

    Bounded collections (tombstones of a Store, RepeatedEvents) may hold some longer."""
    visited: set[int] = set()
    waiting: list[tuple[str, Any]] = [("Controller", controller)]
    while waiting:
        path, at = waiting.pop()
        if isinstance(at, str):
            if at in uids:
                yield f"{path}: {at}"
        elif id(at) not in visited and _is_memory(at):
            visited.add(id(at))
            names = vars(at) if hasattr(at, "__dict__") else {}
            waiting += [(f"{path}.{name}", value) for name, value in names.items()]
            waiting += [(f"{path}/{type(r).__name__}", r) for r in gc.get_referents(at) if r is not names]


def _is_memory(at: Any) -> bool:
    if isinstance(at, RepeatedEvents) or (isinstance(at, deque) and at.maxlen is not None):
        return False
    return isinstance(at, CONTAINERS) or (
        type(at).__module__.startswith("muster.") and not isinstance(at, type)
    )


def check_at_rest(sim: Simulation, passes: int, writes: int, gone: Collection[str]) -> None:
    """Raises Broken if the controller is busy or remembers too much.

    `passes` and `writes` are those within REST_S, after everything was deleted; `gone` are UIDs of objects
    deleted before the last decisions.
    """
    if passes > PASSES_AT_REST_MAX * len(sim.controllers):
        raise Broken(f"{passes} passes in {REST_S:.0f} s of rest")
    if writes:
        raise Broken(f"{writes} writes in {REST_S:.0f} s of rest")
    for controllers in sim.controllers.values():
        for where in remembered(controllers.current, gone):
            raise Broken(f"the controller still remembers deleted objects: {where}")
