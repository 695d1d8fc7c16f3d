"""Faults of what surrounds the controllers: Lease, clocks, credentials, the API server's answers, CRDs."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from muster.kube import kinds
from muster.kube.kinds import LEASES, Kind
from tests.simulation.api import Body
from tests.simulation.kube import CALM, Faults
from tests.simulation.manifests import local_stack, ray_job
from tests.simulation.network import Outage
from tests.simulation.replicas import LEASE, Replicas
from tools.testing.effort import seeds

HOUR_MS = 3_600_000
GONE, TOO_MANY_REQUESTS, UNAUTHORIZED = 410, 429, 401


class Fault(NamedTuple):
    """A fault that begins while a gang runs, and another one waits; `ends` after `lasts_s`."""

    begins: Callable[[Replicas], None]
    ends: Callable[[Replicas], None] = lambda sim: None
    lasts_s: float = 0.0


def edited(spec: Body) -> Fault:
    """A Lease with these fields, edited by hand."""
    return Fault(lambda sim: sim.patch(LEASES, LEASE, {"spec": spec}))


def given_to_the_other(sim: Replicas) -> None:
    (other,) = sim.processes.keys() - {sim.leader}
    sim.patch(LEASES, LEASE, {"spec": {"holderIdentity": other}})


def refused(code: int, share: float, lasts_s: float) -> Fault:
    """A share of all requests, refused with this code."""

    def begins(sim: Replicas) -> None:
        sim.network.outages.append(Outage(code, share, sim.api.now_ms() + round(lasts_s * 1000)))
        sim.trouble(2 * lasts_s)

    return Fault(begins, lasts_s=lasts_s)


def set_faults(sim: Replicas, faults: Faults) -> None:
    sim.faults = faults
    for process in sim.processes.values():
        for connection in process.connections:
            connection.faults = faults


def skewed(first_ms: int, second_ms: int) -> Fault:
    """Wall clocks that are wrong by this much; the leader is killed, and the other one continues."""

    def begins(sim: Replicas) -> None:
        sim.clock_errors_ms |= {"one": first_ms, "two": second_ms}

    return Fault(begins, lambda sim: sim.processes[sim.leader].killed.set(), 10.0)


def deleted(kind: Kind[Any]) -> Fault:
    """A CustomResourceDefinition that is deleted, and created again."""
    return Fault(lambda sim: sim.api.stop_serving(kind), lambda sim: sim.api.serve_again(kind), 60.0)


FAULTS: dict[str, Fault] = {
    "the Lease is deleted": Fault(lambda sim: sim.api.delete(LEASES, LEASE, "user")),
    "the holder of the Lease is removed": edited({"holderIdentity": None}),
    "the holder of the Lease is emptied": edited({"holderIdentity": ""}),
    "the Lease gets an unknown holder": edited({"holderIdentity": "unknown"}),
    "the Lease is given to the other replica": Fault(given_to_the_other),
    "the term of the Lease is shortened": edited({"leaseDurationSeconds": 1}),
    "the last renewal is set back": edited({"renewTime": "2020-01-01T00:00:00.000000Z"}),
    "one clock is an hour ahead": skewed(HOUR_MS, 0),
    "the clocks differ by two hours": skewed(-HOUR_MS, HOUR_MS),
    "watches end with 410": Fault(
        lambda sim: set_faults(sim, Faults(broken_watch=1.0)), lambda sim: set_faults(sim, CALM), 60.0
    ),
    "requests are answered with 410": refused(GONE, 0.5, 60.0),
    "most requests are answered with 429": refused(TOO_MANY_REQUESTS, 0.9, 120.0),
    "credentials have expired": refused(UNAUTHORIZED, 1.0, 120.0),
    "the CRD of RayServices is deleted": deleted(kinds.RAY_SERVICES),
    "the CRD of Cohorts is deleted": deleted(kinds.COHORTS),
    "the CRD of ProvisioningRequests is deleted": deleted(kinds.PROVISIONING_REQUESTS),
}


@pytest.mark.parametrize("seed", seeds(*range(3)))
@pytest.mark.parametrize("name", FAULTS)
def test_jobs_go_on_after_a_fault(name: str, seed: int) -> None:
    """The invariants hold throughout, and one replica writes at a time."""
    fault = FAULTS[name]

    async def story(sim: Replicas) -> None:
        dev = sim.submit(ray_job("dev", seconds=60))
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        await asyncio.sleep(sim.random.uniform(0, 4))
        fault.begins(sim)
        prod = sim.submit(ray_job("prod", priority="prod-priority", seconds=10))
        await asyncio.sleep(fault.lasts_s)
        fault.ends(sim)
        await sim.until(lambda: sim.state(prod) == "Complete", "production completes", 10)
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes", 10)

    Replicas(seed, local_stack()).play(story)


def test_a_workload_is_created_again_after_its_crd() -> None:
    async def story(sim: Replicas) -> None:
        job = sim.submit(ray_job("too-large", workers=500))
        await sim.until(lambda: sim.waits(job) != "", "it waits")
        sim.api.stop_serving(kinds.WORKLOADS)
        await asyncio.sleep(60)
        sim.api.serve_again(kinds.WORKLOADS)
        await sim.until(lambda: sim.waits(job) != "", "it waits again", 2)

    Replicas(1, local_stack()).play(story)
