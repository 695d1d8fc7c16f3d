"""The annotations of waiting jobs, end to end in virtual time."""

import json

import pytest

from muster.controller.pacing.job_wait_writes import REFRESH_MS
from muster.kube import kinds
from muster.objects.names import WAIT_ANNOTATION
from tests.simulation.api import Body
from tests.simulation.manifests import local_stack, ray_job
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SEEDS = seeds(1, 2, 3)


def reported_wait(sim: Simulation, key: str) -> Body:
    document: Body = json.loads(sim.job(key)["metadata"]["annotations"][WAIT_ANNOTATION])
    return document


def is_told(sim: Simulation, key: str) -> bool:
    return WAIT_ANNOTATION in sim.job(key)["metadata"].get("annotations", {})


def events_of(sim: Simulation, name: str) -> list[str]:
    """Returns the reasons of the events of this RayJob."""
    events = sim.api.all(kinds.EVENTS)
    of = [e for e in events if (e["involvedObject"]["kind"], e["involvedObject"]["name"]) == ("RayJob", name)]
    return [event["reason"] for event in of]


def tellings(sim: Simulation, name: str) -> int:
    """Returns how often the annotation of this RayJob was written."""
    texts = sim.history(
        kinds.RAY_JOBS,
        lambda job: (job["metadata"]["name"], job["metadata"].get("annotations", {}).get(WAIT_ANNOTATION)),
    )
    return sum(told_name == name and text is not None for told_name, text in texts)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_waiting_job_is_told_why_until_it_starts(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        first = sim.submit(ray_job("first", seconds=300))
        await sim.until(lambda: sim.state(first) == "Running", "the first runs")
        second, third = sim.submit(ray_job("second")), sim.submit(ray_job("third"))
        await sim.until(lambda: is_told(sim, second) and is_told(sim, third), "both have the annotation")
        assert (reported_wait(sim, second)["reason"], reported_wait(sim, second)["queue"]) == (
            "WaitingForQuota",
            "team-a",
        )
        assert sorted(reported_wait(sim, key)["position"] for key in (second, third)) == [1, 2]
        await sim.until(lambda: "WaitingForQuota" in events_of(sim, "second"), "it has an event", 0.5)
        await sim.until(lambda: sim.state(second) == "Running", "the second runs", 10)
        assert not is_told(sim, second)
        assert events_of(sim, "second").count("WaitingForQuota") == 1
        await sim.until(
            lambda: not is_told(sim, third) or reported_wait(sim, third)["position"] == 1, "it moved up"
        )

    Simulation(seed, local_stack(check=False)).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_reason_that_became_untrue_is_replaced_within_ten_seconds(seed: int) -> None:
    """A job does not "wait behind" a job that has got its quota."""
    stack = local_stack(check=False)
    for body in stack[kinds.CLUSTER_QUEUES]:
        body["spec"]["queueingStrategy"] = "StrictFIFO"

    async def story(sim: Simulation) -> None:
        first = sim.submit(ray_job("first", seconds=120))
        await sim.until(lambda: sim.state(first) == "Running", "the first runs")
        second = sim.submit(ray_job("second", seconds=600))
        await sim.until(lambda: is_told(sim, second), "the second waits")
        third = sim.submit(ray_job("third"))
        behind = "waits behind team-a/rayjob-second"
        await sim.until(lambda: is_told(sim, third), "the third waits")
        assert behind in str(reported_wait(sim, third))
        await sim.until(lambda: sim.has(second, "QuotaReserved"), "the second gets its quota", 10)
        await sim.until(
            lambda: behind not in str(reported_wait(sim, third)), "the third has another reason", 10 / 60
        )

    Simulation(seed, stack).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_positions_are_those_in_the_queue_of_the_core(seed: int) -> None:
    """Jobs of one second and priority are ordered by their UIDs, a detail of the core."""

    async def story(sim: Simulation) -> None:
        first = sim.submit(ray_job("first", seconds=300))
        await sim.until(lambda: sim.state(first) == "Running", "the first runs")
        waiting = [sim.submit(ray_job(f"job-{number}", seconds=300)) for number in range(4)]
        await sim.until(lambda: all(is_told(sim, key) for key in waiting), "all have the annotation")
        by_position = {reported_wait(sim, key)["position"]: key for key in waiting}
        assert sorted(by_position) == [1, 2, 3, 4]
        await sim.until(lambda: any(sim.state(key) == "Running" for key in waiting), "the next runs", 10)
        assert sim.state(by_position[1]) == "Running"

    Simulation(seed, local_stack(check=False)).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_that_is_admitted_at_once_is_told_nothing(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        key = sim.submit(ray_job("dev"))
        await sim.until(lambda: sim.state(key) == "Complete", "it completes")
        assert tellings(sim, "dev") == 0

    Simulation(seed, local_stack(check=False)).run(story)


def test_edits_of_the_annotation_are_not_answered() -> None:
    async def story(sim: Simulation) -> None:
        first = sim.submit(ray_job("first", seconds=3000))
        await sim.until(lambda: sim.state(first) == "Running", "the first runs")
        second = sim.submit(ray_job("second"))
        await sim.until(lambda: is_told(sim, second), "it has the annotation")
        before = len(sim.api.journal[kinds.RAY_JOBS])
        for number in range(100):
            edited = {"metadata": {"annotations": {WAIT_ANNOTATION: "mine" * number}}}
            sim.patch(kinds.RAY_JOBS, second, edited)
            await sim.stays(lambda: True, "time passes", REFRESH_MS / 60_000 / 20)
        by_controller = [
            change for change in sim.api.journal[kinds.RAY_JOBS][before:] if change.by == "controller"
        ]
        assert by_controller == []

    Simulation(1, local_stack(check=False)).run(story)


def test_a_new_leader_tells_nothing_again() -> None:
    async def story(sim: Simulation) -> None:
        first = sim.submit(ray_job("first", seconds=3000))
        await sim.until(lambda: sim.state(first) == "Running", "the first runs")
        second = sim.submit(ray_job("second"))
        await sim.until(lambda: is_told(sim, second), "it has the annotation")
        sim.kill()
        await sim.stays(lambda: tellings(sim, "second") == 1, "it is written once", 0.9)
        assert events_of(sim, "second").count("WaitingForQuota") == 1

    Simulation(1, local_stack(check=False)).run(story)
