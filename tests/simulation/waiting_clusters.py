"""Clusters of the simulation in which workloads wait."""

import contextlib

from muster.admission.lifecycle import Backoff, WaitForPodsReady
from muster.configuration.configuration import Configuration
from muster.kube import kinds
from muster.objects.meta import millis
from tests.simulation.api import Body
from tests.simulation.invariants import condition
from tests.simulation.simulation import Simulation


def waiting(**rules: object) -> Configuration:
    wait = WaitForPodsReady(timeout_s=300, backoff=Backoff(60, 600), **rules)  # type: ignore[arg-type]
    return Configuration(wait_for_pods_ready=wait)


class _NeverJoin(dict[str, int]):
    """Nodes by request: none of those that the cloud adds."""

    def __setitem__(self, request: str, nodes: int) -> None:
        pass


@contextlib.asynccontextmanager
async def nodes_that_never_join(sim: Simulation):  # type: ignore[no-untyped-def]
    sim.cloud.nodes = _NeverJoin()
    yield
    sim.cloud.nodes = {}


def turned(sim: Simulation, kind: str, reason: str) -> list[int]:
    """Returns when the condition became True for this reason, in any Workload."""
    times = sim.history(
        kinds.WORKLOADS,
        lambda w: millis(condition(w, kind)["lastTransitionTime"]) if _is(w, kind, reason) else None,
    )
    return [t for t in times if t is not None]


def _is(workload: Body, kind: str, reason: str) -> bool:
    reported = condition(workload, kind)
    return reported.get("status") == "True" and reported["reason"] == reason
