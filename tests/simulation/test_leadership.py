"""Two replicas: for any fault of the leader at any write there are never two writers, the other takes over
in time, and no gang is lost."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import pytest

from muster.kube.kinds import LEASES
from muster.kube.lease import LEASE_S, RETRY_S
from tests.simulation.api import Change
from tests.simulation.kube import WAY_S_MAX, Faults
from tests.simulation.manifests import local_stack, ray_job
from tests.simulation.replicas import Process, Replicas
from tools.testing.effort import seeds

A_FEW_REQUESTS_S = 6 * WAY_S_MAX
TAKE_OVER_S_MAX = LEASE_S + RETRY_S + A_FEW_REQUESTS_S


class Trouble(NamedTuple):
    """A fault of the leader, its duration, and how soon another must lead: None if none must."""

    strike: Callable[[Process], None]
    lasts_s: float
    another_leads_s_max: float | None


def freeze(process: Process) -> None:
    process.frozen = True


def cut_off(process: Process) -> None:
    process.cut = "off"


def lose_answers(process: Process) -> None:
    process.cut = "answers"


TROUBLES = {
    "killed": Trouble(lambda p: p.killed.set(), 60, TAKE_OVER_S_MAX),
    "terminated": Trouble(lambda p: p.stop(), 60, RETRY_S + A_FEW_REQUESTS_S),
    "frozen for long": Trouble(freeze, 40, TAKE_OVER_S_MAX),
    "frozen a little": Trouble(freeze, 5, None),
    "frozen beyond its deadline, not beyond its term": Trouble(freeze, 12, None),
    "cut off": Trouble(cut_off, 60, TAKE_OVER_S_MAX),
    # its renewals arrive until its renew deadline, and the Lease is valid for one more term
    "heard, but hears nothing": Trouble(lose_answers, 60, 2 * LEASE_S + RETRY_S + A_FEW_REQUESTS_S),
}


@pytest.mark.parametrize("after", range(1, 14, 3))
@pytest.mark.parametrize("name", TROUBLES)
def test_another_replica_takes_over_after_a_fault_at_any_write(name: str, after: int) -> None:
    trouble = TROUBLES[name]

    async def story(sim: Replicas) -> None:
        struck = asyncio.Event()
        writes = 0

        def strike(change: Change) -> None:
            nonlocal writes
            writes += change.by == "controller" and change.kind is not LEASES
            if writes == after and not struck.is_set():
                struck.set()
                trouble.strike(sim.processes[sim.leader])

        sim.restarts = False
        sim.api.watchers.append(strike)
        dev, prod = sim.submit(ray_job("dev", seconds=40)), sim.submit(ray_job("b", priority="prod-priority"))
        await struck.wait()
        leader, process = sim.leader, sim.processes[sim.leader]
        if trouble.another_leads_s_max is not None:
            await sim.until(
                lambda: sim.leader not in ("", leader), "another", trouble.another_leads_s_max / 60
            )
        await asyncio.sleep(trouble.lasts_s)
        process.cut = ""
        process.thaw()
        sim.restarts = True
        await sim.until(lambda: sim.state(prod) == "Complete", "prod completes", 15)
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes", 15)

    Replicas(after, local_stack()).play(story)


@pytest.mark.parametrize("seed", seeds(*range(3)))
def test_one_replica_keeps_the_lease_without_faults(seed: int) -> None:
    async def story(sim: Replicas) -> None:
        await sim.until(lambda: sim.leader != "", "a leader")
        leader = sim.leader
        await sim.stays(lambda: sim.leader == leader, f"{leader} leads", 10)
        assert sim.history(LEASES, lambda lease: lease["spec"]["leaseTransitions"]) == [0]

    Replicas(seed, local_stack()).play(story)


def test_a_replica_that_finds_the_lease_deleted_waits_for_its_term() -> None:
    async def story(sim: Replicas) -> None:
        sim.restarts = False  # its next container would find no Lease, and need not wait
        await sim.until(lambda: sim.leader != "", "a leader")
        await asyncio.sleep(2 * RETRY_S)
        leader, other = sim.leader, next(p for name, p in sim.processes.items() if name != sim.leader)
        sim.processes[leader].cut = "off"
        sim.api.delete(LEASES, "muster-system/muster-controller", "user")
        # the last renewal that the other saw is at most as old as both pauses
        await asyncio.sleep(LEASE_S - 2 * RETRY_S - A_FEW_REQUESTS_S)
        assert sim.leader == ""
        await sim.until(lambda: sim.leader == other.name, "the other leads", RETRY_S * 3 / 60)

    Replicas(1, local_stack()).play(story)


@pytest.mark.parametrize("seed", seeds(*range(4)))
def test_the_next_leader_knows_the_last_ones_reservations(seed: int) -> None:
    """The watches are so late that dev's reservation has not arrived, and prod goes first."""

    async def story(sim: Replicas) -> None:
        sim.restarts = False
        dev = sim.submit(ray_job("dev", seconds=40))
        await sim.until(lambda: sim.has(dev, "QuotaReserved"), "dev has quota")
        sim.processes[sim.leader].stop()
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(prod) == "Complete", "prod completes", 15)

    Replicas(seed, local_stack(), faults=Faults(watch_lag_s=15.0)).play(story)
