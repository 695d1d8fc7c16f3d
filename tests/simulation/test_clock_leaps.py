"""Wall clocks leap while a gang is stopped by force: KubeRay gets its time and not longer."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from muster.controller.workload.suspension import SUSPENSION_MS_MAX
from muster.kube import kinds
from tests.simulation.api import key_of
from tests.simulation.bounds import STOP_MS
from tests.simulation.invariants import condition
from tests.simulation.manifests import WORKER, local_stack, ray_job
from tests.simulation.simulation import Simulation

HOUR_S = 3600.0
NEARLY_AN_HOUR = {**WORKER, "spec": {**WORKER["spec"], "terminationGracePeriodSeconds": 3000}}

Leap = Callable[[Simulation, float], None]


def of_the_controller(sim: Simulation, seconds: float) -> None:
    sim.clock_error_ms += round(seconds * 1000)


def of_all_machines(sim: Simulation, seconds: float) -> None:
    sim.set_clock(seconds)


@dataclass(frozen=True)
class Case:
    """`leap` happens this many seconds after the eviction; before it, if negative. With `long_grace` KubeRay
    deletes the pods, which take nearly an hour to end; otherwise it does nothing."""

    leap: Leap
    by_s: float
    after_s: float = 20
    long_grace: bool = False
    delete_workload: bool = False


CASES = {
    "no leap": Case(of_the_controller, 0),
    "the controller's, ahead": Case(of_the_controller, HOUR_S),
    "the controller's, back": Case(of_the_controller, -HOUR_S),
    "all, ahead": Case(of_all_machines, HOUR_S),
    "all, back": Case(of_all_machines, -HOUR_S),
    "the controller's, back, its Workload is deleted": Case(
        of_the_controller, -HOUR_S, after_s=-5, delete_workload=True
    ),
    "the controller's, ahead, its Workload is deleted": Case(
        of_the_controller, HOUR_S, after_s=-5, delete_workload=True
    ),
    "all, back, its Workload is deleted": Case(of_all_machines, -HOUR_S, delete_workload=True),
    "the controller's, ahead, pods with a long grace period": Case(
        of_the_controller, HOUR_S, after_s=-5, long_grace=True
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_kuberay_has_its_time_and_no_more(name: str) -> None:
    """The pods are force-deleted when its time is up, and their quota is released."""
    case = CASES[name]

    async def story(sim: Simulation) -> None:
        worker = NEARLY_AN_HOUR if case.long_grace else WORKER
        dev = sim.submit(ray_job("dev", seconds=10_000, worker=worker))
        await sim.until(lambda: sim.has(dev, "PodsReady"), "dev runs")
        held = key_of(sim.workload(dev) or {})
        sim.kuberay.halted = not case.long_grace
        if case.after_s < 0:
            case.leap(sim, case.by_s)
            await asyncio.sleep(-case.after_s)
        loop = asyncio.get_running_loop()
        told_s = loop.time()
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        if case.delete_workload:
            sim.api.delete(kinds.WORKLOADS, held, "user")
        if case.after_s >= 0:
            await asyncio.sleep(case.after_s)
            case.leap(sim, case.by_s)
            sim.patch(kinds.RAY_JOBS, prod, {"metadata": {"annotations": {"a": "change"}}})  # is looked at
        minutes = (STOP_MS / 1000 - max(0.0, case.after_s)) / 60
        await sim.until(lambda: not holds(sim, held), "dev's quota is reused", minutes)
        assert loop.time() - told_s >= SUSPENSION_MS_MAX / 1000
        await sim.until(lambda: sim.has(prod, "QuotaReserved"), "prod gets it")

    Simulation(1, local_stack(check=False)).run(story)


def holds(sim: Simulation, key: str) -> bool:
    return condition(sim.api.find(kinds.WORKLOADS, key), "QuotaReserved").get("status") == "True"


def test_a_leader_that_takes_over_counts_the_time_before_it() -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=10_000))
        await sim.until(lambda: sim.has(dev, "PodsReady"), "dev runs")
        sim.kuberay.halted = True
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        for _ in range(6):
            await asyncio.sleep(15)
            sim.kill()
        await sim.until(lambda: sim.has(prod, "QuotaReserved"), "prod gets the quota", 0.5)

    Simulation(1, local_stack(check=False)).run(story)
