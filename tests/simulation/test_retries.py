"""Pods that are replaced while they terminate: by retries of a RayJob, or because a user deletes them."""

import asyncio

import pytest

from muster.kube import kinds
from tests.simulation.api import Body, key_of
from tests.simulation.manifests import WORKER, batch_job, local_stack, ray_job
from tests.simulation.operators import owner_uids
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SEEDS = seeds(1, 2, 3, 4)
GRACE_S = 100  # less than the bound of usage_covers_pods (tests/simulation/bounds.py)
REACTION_S = 5.0
"""Seconds in which pods may exceed the quota: until the controller has suspended the job."""
SLOW = {**WORKER, "spec": {**WORKER["spec"], "terminationGracePeriodSeconds": GRACE_S}}


class Overlap:
    """The time in which pods of several RayClusters ran together, in a row, and the number of RayClusters."""

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self.seconds = self.longest_s = 0.0
        self.clusters: set[str] = set()

    async def watch(self) -> None:
        while True:
            running = [p for p in self._sim.api.all(kinds.PODS) if p["status"]["phase"] == "Running"]
            workers = [p for p in running if "terminationGracePeriodSeconds" in p["spec"]]
            owners = {uid for pod in workers for uid in owner_uids(pod)}
            self.clusters |= owners
            self.seconds = self.seconds + 0.5 if len(owners) > 1 else 0.0
            self.longest_s = max(self.longest_s, self.seconds)
            await asyncio.sleep(0.5)


def submit_failing(sim: Simulation, *, retries: int) -> str:
    dev = sim.submit(ray_job("dev", worker=SLOW, seconds=5, outcome="FAILED", backoffLimit=retries))
    sim.invariants.distrust(sim.job(dev))
    return dev


@pytest.mark.parametrize("seed", SEEDS)
def test_the_next_attempt_of_a_job_waits_for_the_pods_of_the_last_one(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = submit_failing(sim, retries=2)
        overlap = Overlap(sim)
        watching = asyncio.create_task(overlap.watch())
        await sim.until(lambda: sim.state(dev) == "Failed", "dev has failed three times", 20)
        watching.cancel()
        assert len(overlap.clusters) == 3
        assert overlap.longest_s <= REACTION_S

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_retried_job_that_is_evicted_is_not_started_again(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = submit_failing(sim, retries=9)
        await sim.until(lambda: sim.state(dev) == "Retrying", "dev failed")
        prod = sim.submit(ray_job("prod", priority="prod-priority", seconds=60))
        await sim.until(lambda: sim.state(prod) == "Running", "prod runs", 3)
        assert sim.job(dev)["spec"]["suspend"]
        await sim.until(lambda: sim.state(prod) == "Complete", "prod completes", 5)

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_pods_that_are_deleted_in_a_loop_exceed_the_quota_once(seed: int) -> None:
    """The Job controller replaces a pod as soon as its deletion begins. With the role `edit`, users delete
    pods."""

    def live(sim: Simulation) -> list[Body]:
        return [pod for pod in sim.api.all(kinds.PODS) if pod["status"]["phase"] in ("Pending", "Running")]

    async def story(sim: Simulation) -> None:
        policy = "TerminatingOrFailed"  # the API server's default
        dev = sim.submit(batch_job("dev", seconds=10_000, worker=SLOW, podReplacementPolicy=policy))
        sim.invariants.distrust(sim.api.get(kinds.BATCH_JOBS, dev))
        await sim.until(lambda: len(live(sim)) == 4, "dev has pods")
        counts = []
        for _ in range(2 * GRACE_S):
            for pod in live(sim):
                if "deletionTimestamp" not in pod["metadata"]:
                    sim.api.delete(kinds.PODS, key_of(pod), "user")
            await asyncio.sleep(0.5)
            counts.append(len(live(sim)))
        assert 8 < max(counts) <= 16

    Simulation(seed, local_stack()).run(story)
