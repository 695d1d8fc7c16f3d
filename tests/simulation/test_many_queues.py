"""Thousands of LocalQueues: admission continues, each status is written exactly once."""

import asyncio

from muster.kube import kinds
from tests.simulation.api import Body
from tests.simulation.invariants import condition
from tests.simulation.manifests import local_stack, ray_job
from tests.simulation.simulation import Simulation

QUEUES = 5000
STATUSES_S = 60.0  # 150 a second, and again for queues with a job
MESSAGE_LENGTH_MAX = 1000


def local_queue(number: int) -> Body:
    name = f"a-queue-with-a-long-name-{number:04}"
    return {"metadata": {"name": name, "namespace": "team-a"}, "spec": {"clusterQueue": "team-a"}}


def status_writes(sim: Simulation) -> int:
    return sum(change.type == "MODIFIED" for change in sim.api.journal[kinds.LOCAL_QUEUES])


def test_five_thousand_local_queues_delay_no_job_and_are_written_once() -> None:
    async def story(sim: Simulation) -> None:
        lost = sim.submit(ray_job("lost", queue="typo"))
        dev = sim.submit(ray_job("dev"))
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs", 0.5)
        assert status_writes(sim) < QUEUES / 2, "the statuses do not come first"
        assert len(condition(sim.workload(lost), "QuotaReserved")["message"]) < MESSAGE_LENGTH_MAX
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")
        await asyncio.sleep(STATUSES_S)
        assert QUEUES < status_writes(sim) < QUEUES + 20
        assert sim.kube is not None
        writes = sim.kube.writes
        await asyncio.sleep(2 * STATUSES_S)  # passes that examine everything
        assert sim.kube.writes == writes

    stack = local_stack(check=False)
    queues = [*stack[kinds.LOCAL_QUEUES], *map(local_queue, range(QUEUES))]
    Simulation(1, {**stack, kinds.LOCAL_QUEUES: queues}).run(story)
