"""Gangs whose pods the API server would refuse: told so, and never given quota."""

import asyncio
from typing import Any

import pytest

from muster.kube import kinds
from tests.simulation.api import Body
from tests.simulation.manifests import WORKER, local_stack, ray_job, template
from tests.simulation.simulation import Simulation

NO_IMAGE: Body = {"spec": {"containers": [{**WORKER["spec"]["containers"][0], "image": ""}]}}
IMPOSSIBLE: dict[str, tuple[Body, str]] = {
    "a bad container name": (
        template("Bad_Name", cpu=1, memory="1Gi", gpu=1),
        "pod set 'gpu': Kubernetes would not create its pods: "
        "template.spec.containers[0].name: Invalid value: 'Bad_Name'",
    ),
    "no image": (
        NO_IMAGE,
        "pod set 'gpu': Kubernetes would not create its pods: "
        "template.spec.containers[0].image: Required value",
    ),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible_gangs_hold_no_quota(name: str, seed: int) -> None:
    worker, why = IMPOSSIBLE[name]

    async def story(sim: Simulation) -> None:
        bad = sim.submit(ray_job("bad", worker=worker, priority="prod-priority"))
        good = sim.submit(ray_job("good"))
        await sim.until(lambda: sim.waits(bad) == f"Misconfigured: {why}", "it is told why")
        await sim.until(lambda: sim.state(good) == "Complete", "the other one completes")
        sim.kill()  # the next controller knows no answers
        await asyncio.sleep(30)
        assert sim.waits(bad) == f"Misconfigured: {why}"
        assert not any(held for held in sim.history(kinds.WORKLOADS, lambda w: holds_bad(w)))

    Simulation(seed, local_stack()).run(story)


def holds_bad(workload: Body) -> bool:
    return "bad" in workload["metadata"]["name"] and "admission" in workload.get("status", {})


def test_where_nobody_answers_gangs_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(sim: Simulation) -> None:
        job = sim.submit(ray_job("dev"))
        await sim.until(lambda: sim.state(job) == "Complete", "it completes")

    async def cannot_tell(self: Any, create: Any) -> str:
        await asyncio.sleep(5)
        return ""

    monkeypatch.setattr("tests.simulation.kube.EmulatedKube.refusal", cannot_tell)
    Simulation(1, local_stack()).run(story)
