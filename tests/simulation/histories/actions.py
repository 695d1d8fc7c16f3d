"""Actions: how they are drawn and carried out."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from muster.kube import kinds
from muster.kube.kinds import Kind
from tests.simulation.api import Body, Refused
from tests.simulation.invariants import owner_uid
from tests.simulation.simulation import Simulation

KINDS: dict[str, Kind[Any]] = {
    kind.name: kind
    for kind in (
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
        kinds.CLUSTER_QUEUES,
        kinds.LOCAL_QUEUES,
        kinds.COHORTS,
        kinds.FLAVORS,
        kinds.PRIORITIES,
        kinds.CHECKS,
        kinds.PROVISIONING_CONFIGS,
    )
}
RAY_KINDS = (kinds.RAY_JOBS, kinds.RAY_CLUSTERS, kinds.RAY_SERVICES)
JOB_KINDS = (*RAY_KINDS, kinds.BATCH_JOBS, kinds.JOB_SETS, kinds.LEADER_WORKER_SETS)
RECENT = 6  # submitted jobs that actions are about


@dataclass
class Draw:
    """The state while a history is drawn, without knowledge of how it will be played."""

    random: Random
    namespaces: tuple[str, ...]
    submitted: list[tuple[str, str]] = field(default_factory=list)  # (kind, key), in order

    def job(self, *of: Kind[Any]) -> dict[str, Any]:
        """Returns a recent job of these kinds; of any kind if none is given."""
        names = [k.name for k in of or JOB_KINDS]
        recent = [(kind, key) for kind, key in self.submitted if kind in names][-RECENT:]
        if not recent:
            raise LookupError("no such job yet")
        kind, key = self.random.choice(recent)
        return {"kind": kind, "key": key}

    def new_key(self, kind: Kind[Any]) -> str:
        name = kind.name.removeprefix("Ray").lower()
        key = f"{self.random.choice(self.namespaces)}/{name}{len(self.submitted)}"
        self.submitted.append((kind.name, key))
        return key


@dataclass(frozen=True)
class Act:
    """`draw` chooses the arguments (LookupError: not possible yet), `do` carries them out.

    `weight` among its family; `hostile`: the tenant is responsible for what happens to the named job."""

    weight: float
    draw: Callable[[Draw], dict[str, Any]]
    do: Callable[..., None]
    hostile: bool = False


def nothing(_draw: Draw) -> dict[str, Any]:
    return {}


def find(sim: Simulation, kind: str, key: str) -> Body:
    return sim.api.get(KINDS[kind], key)


def workload_of(sim: Simulation, kind: str, key: str) -> Body:
    uid = find(sim, kind, key)["metadata"]["uid"]
    for workload in sim.api.all(kinds.WORKLOADS):
        if owner_uid(workload) == uid:
            return workload
    raise Refused(404, f"no Workload of {kind} {key}")


def owned_by(sim: Simulation, kind: Kind[Any], uid: str) -> list[Body]:
    return [
        body
        for body in sim.api.all(kind)
        if any(o["uid"] == uid for o in body["metadata"].get("ownerReferences", ()))
    ]


def perform(sim: Simulation, act: Act, arguments: dict[str, Any]) -> None:
    """Carries it out if its object exists and the API server accepts it."""
    with contextlib.suppress(Refused):
        if act.hostile:
            sim.invariants.distrust(find(sim, arguments["kind"], arguments["key"]))
        act.do(sim, **arguments)
