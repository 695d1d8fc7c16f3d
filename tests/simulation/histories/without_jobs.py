"""Actions on Workloads that are created without a job, and on Workloads that lose their job."""

from typing import Any

from muster.kube import kinds
from tests.simulation.api import key_of
from tests.simulation.histories.actions import JOB_KINDS, KINDS, Act, Draw, workload_of
from tests.simulation.manifests import workload
from tests.simulation.simulation import Simulation


def draw_new(draw: Draw) -> dict[str, Any]:
    pick = draw.random.choice
    key = f"{pick(draw.namespaces)}/batch{len(draw.submitted)}"
    draw.submitted.append((kinds.WORKLOADS.name, key))
    return {
        "key": key,
        "pods": pick((1, 2, 3)),
        "priority": pick((50, 100, 2000)),
        "seconds": pick((2, 20, 90)),
    }


def create(sim: Simulation, key: str, **fields: Any) -> None:
    namespace, _, name = key.partition("/")
    sim.api.create(kinds.WORKLOADS, workload(name, namespace=namespace, **fields), "user")


def draw_created(draw: Draw) -> dict[str, Any]:
    return draw.job(kinds.WORKLOADS)


def delete(sim: Simulation, kind: str, key: str) -> None:
    sim.api.delete(KINDS[kind], key, "user")


def draw_toggle(draw: Draw) -> dict[str, Any]:
    return {**draw_created(draw), "active": draw.random.random() < 0.5}


def set_active(sim: Simulation, kind: str, key: str, active: bool) -> None:
    sim.patch(KINDS[kind], key, {"spec": {"active": active}})


def draw_owned(draw: Draw) -> dict[str, Any]:
    return draw.job(*JOB_KINDS)


def orphan(sim: Simulation, kind: str, key: str) -> None:
    """Removes the owner references of a job's Workload."""
    workload_key = key_of(workload_of(sim, kind, key))
    sim.api.merge_patch(
        kinds.WORKLOADS, workload_key, {"metadata": {"ownerReferences": None}}, "tenant", False
    )


WITHOUT_JOBS = {
    "create-workload": Act(4, draw_new, create),
    "delete-workload": Act(1, draw_created, delete),
    "set-active": Act(1, draw_toggle, set_active),
}
ORPHANED = {"orphan-workload": Act(1, draw_owned, orphan)}
