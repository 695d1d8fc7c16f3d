"""Budgets in the simulation: gangs wait, and usage is exact whatever happens to the controller."""

import json
from typing import Any

from muster.admission import HOUR_MS
from tests.simulation.api import Body
from tests.simulation.manifests import GPU, cluster_queue, quotas, ray_job, stack
from tests.simulation.simulation import Simulation

CPU = quotas("cpu", cpu=64, memory="256Gi", gpu=0)


def budgeted(gpus: int, hours: int, **fields: Any) -> Body:
    """A queue with GPUs and a budget of their hours in a month."""
    queue = cluster_queue("team-a", CPU, quotas("l4", cpu=64, memory="256Gi", gpu=gpus))
    budget = {"resource": GPU, "hours": hours, "period": "month"} | fields
    queue["metadata"]["annotations"] = {"muster.dev/budgets": json.dumps([budget])}
    return queue


def test_gang_waits_once_the_budget_is_used() -> None:
    async def story(sim: Simulation) -> None:
        first = sim.submit(ray_job("first", seconds=HOUR_MS))
        await sim.until(lambda: sim.state(first) == "Running", "the first one runs")
        second = sim.submit(ray_job("second", seconds=20))
        await sim.until(lambda: sim.state(second) == "Complete", "some of the budget is left")
        await sim.stays(lambda: sim.state(first) == "Running", "it uses a GPU hour", 15)
        third = sim.submit(ray_job("third", seconds=20))
        sentence = f"needs 4 {GPU}, but ClusterQueue team-a has too little left of its 1 {GPU} hours of this"
        await sim.until(lambda: sentence in sim.waits(third), "the third one waits")
        await sim.stays(lambda: sim.state(first) == "Running", "running gangs continue", 1)

    Simulation(1, stack(budgeted(8, hours=1))).run(story)
