"""Random users, conflicts, late watches, lost answers, broken watches and SIGKILL; from a seed.

`MUSTER_SEED=<seed>` replays one run, `MUSTER_SIM_RUNS=<n>` makes more of each kind.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from muster.kube import kinds
from muster.kube.kinds import Kind
from tests.simulation.api import Body, key_of
from tests.simulation.invariants import condition
from tests.simulation.kube import CALM, Faults
from tests.simulation.kuberay import state_of
from tests.simulation.manifests import NO_BORROWING, PREEMPTION, cluster_queue, local_stack, quotas, stack
from tests.simulation.simulation import Simulation
from tests.simulation.users import Users

RUNS = int(os.environ.get("MUSTER_SIM_RUNS", "2"))
ACTIONS = 40
SETTLES_MINUTES = 30
HOPELESS = {"Misconfigured", "ExceedsMaxQuota", "NoMatchingFlavor"}


def shared_stack() -> dict[Kind[Any], list[Body]]:
    """No checks; team-a lends little, team-b borrows much and keeps to its order, all within a division."""
    cpu = quotas("cpu", cpu=20, memory="64Gi", gpu=0)
    lends = quotas("l4", cpu=16, memory="64Gi", gpu={"nominalQuota": "4", "lendingLimit": "2"})
    borrows = quotas("l4", cpu=16, memory="64Gi", gpu={"nominalQuota": "3", "borrowingLimit": "3"})
    division = {"metadata": {"name": "division"}, "spec": {"parentName": "ml"}}
    reclaims = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "LowerPriority"}
    return stack(
        cluster_queue("team-a", cpu, lends, cohort="division", preemption=PREEMPTION),
        cluster_queue(
            "team-b", cpu, borrows, cohort="division", preemption=reclaims, queueingStrategy="StrictFIFO"
        ),
        cohorts=(division,),
    )


def alone_stack() -> dict[Kind[Any], list[Body]]:
    cpu = quotas("cpu", cpu=8, memory="32Gi", gpu=0)
    gpu = quotas("l4", cpu=16, memory="64Gi", gpu=NO_BORROWING)
    newer = {"withinClusterQueue": "LowerOrNewerEqualPriority"}
    return stack(
        cluster_queue("team-a", cpu, gpu, check=True, preemption=newer), retry={"limit": 2, "base_s": 5}
    )


Stack = Callable[[], dict[Kind[Any], list[Body]]]
STACKS: dict[str, Stack] = {"local": local_stack, "shared": shared_stack, "alone": alone_stack}
FAULTS = {
    "calm": CALM,
    "rough": Faults(killed=0.03, lost_answer=0.02, broken_watch=0.02, watch_lag_s=1.0),
}


def runs() -> Iterator[Any]:
    seed = os.environ.get("MUSTER_SEED")
    for at, (stack_name, fault_name) in enumerate((s, f) for s in STACKS for f in FAULTS):
        for seed_now in [int(seed)] if seed else range(1000 * at, 1000 * at + RUNS):
            name = f"{stack_name}-{fault_name}-{seed_now}"
            yield pytest.param(STACKS[stack_name], FAULTS[fault_name], seed_now, id=name)


@pytest.mark.parametrize(("make_stack", "faults", "seed"), list(runs()))
def test_it_all_ends_well(make_stack: Stack, faults: Faults, seed: int) -> None:
    sim = simulate(make_stack, faults, seed, ACTIONS)
    assert sim.invariants.checked > 100


def test_a_seed_is_a_replay() -> None:
    first, second = (simulate(local_stack, FAULTS["rough"], seed=7, actions=10) for _ in range(2))
    assert history(first) == history(second)


def simulate(make_stack: Stack, faults: Faults, seed: int, actions: int) -> Simulation:
    """Users act, then everything comes to its end."""
    objects = make_stack()
    namespaces = tuple(n["metadata"]["name"] for n in objects[kinds.NAMESPACES])
    sim = Simulation(seed, objects, nodes=6, faults=faults)

    async def scenario(sim: Simulation) -> None:
        users = Users(sim, namespaces)
        await users.act(actions)
        users.stop()
        sim.calm_down()
        what = "everything ends"
        await sim.until(lambda: not unsettled(sim), what, SETTLES_MINUTES, lambda: unsettled(sim))

    sim.run(scenario)
    return sim


def history(sim: Simulation) -> list[tuple[int, int, str]]:
    changes = (c for journal in sim.api.journal.values() for c in journal)
    return sorted((c.revision, c.time_ms, key_of(c.body)) for c in changes)


def unsettled(sim: Simulation) -> list[str]:
    """What is not yet as it should be once the users have stopped."""
    left = [f"{key_of(r)} is left" for r in sim.api.all(kinds.PROVISIONING_REQUESTS)]
    left += [f"{key} holds quota" for key in sim.reserved()]
    left += [f"{key_of(p)} lives" for p in sim.api.all(kinds.PODS) if p["status"]["phase"] == "Running"]
    left += [f"{key_of(j)} is {state_of(j)}" for j in sim.api.all(kinds.RAY_JOBS) if not settled(sim, j)]
    for queue in (*sim.api.all(kinds.CLUSTER_QUEUES), *sim.api.all(kinds.LOCAL_QUEUES)):
        status = queue.get("status", {})
        totals = {r["total"] for f in status.get("flavorsReservation", []) for r in f["resources"]}
        if totals - {"0"} or status.get("reservingWorkloads") != 0:
            left.append(f"{key_of(queue)} tells of usage")
    return left


def settled(sim: Simulation, job: Body) -> bool:
    workload = sim.workload(key_of(job))
    if state_of(job) in ("Complete", "Failed"):
        return workload is None or condition(workload, "Finished").get("status") == "True"
    if workload is None:
        return False
    reserved = condition(workload, "QuotaReserved")
    told = reserved.get("reason") in HOPELESS or not workload["spec"]["active"]
    return reserved.get("status") == "False" and bool(reserved["message"]) and told
