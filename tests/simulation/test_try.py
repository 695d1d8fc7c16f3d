"""`muster try` and `muster eta` : the controller acts as they predict."""

from random import Random

import pytest

from muster.configuration.configuration import Configuration
from muster.forecast.assumptions import Assumptions
from muster.forecast.start_estimates import estimated_start
from muster.kube import kinds
from muster.live.observed import observed
from muster.live.state import ObservedState, live_state
from muster.live.submitted import Submitted, submitted
from muster.live.verdict import VerdictKind, verdict
from muster.objects.meta import millis
from muster.objects.names import MAX_EXEC_TIME_LABEL
from tests.simulation.api import Body, key_of
from tests.simulation.elastic_gangs import elastic, granted, platform
from tests.simulation.invariants import condition
from tests.simulation.manifests import local_stack, ray_job
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SLACK_S = 15  # of a declared run time, for KubeRay, the pods and the submitter
ASSUMED = Assumptions(limit_share=1, start_up_s=0, termination_s=0, cleanup_s=0)
JOBS = 6


async def tried(sim: Simulation, job: Body) -> tuple[ObservedState, Submitted]:
    assert sim.kube is not None
    observed_objects = await observed(sim.kube)
    now_ms = sim.wall_clock_ms()
    of = submitted({"apiVersion": "ray.io/v1", "kind": "RayJob", **job}, observed_objects.cluster, now_ms)
    return live_state(of.cluster, Configuration(), now_ms), of


def drawn(random: Random, name: str) -> Body:
    return ray_job(
        name,
        workers=random.randint(1, 5),
        namespace=random.choice(["team-a", "team-b"]),
        priority=random.choice(["prod-priority", "dev-priority"]),
        seconds=10_000,
    )


def flavors(sim: Simulation, key: str) -> dict[str, object]:
    """The flavors that a job got, by pod set."""
    held = (sim.workload(key) or {})["status"]["admission"]["podSetAssignments"]
    return {holding["name"]: holding["flavors"] for holding in held}


def preempted(sim: Simulation) -> set[str]:
    """The Workloads that are preempted and wait, by key."""
    return {
        key_of(w) for w in sim.api.all(kinds.WORKLOADS) if condition(w, "Preempted").get("status") == "True"
    }


async def settle(sim: Simulation) -> None:
    await sim.stays(lambda: True, "the controller has read everything, and victims are deleted", 1)


@pytest.mark.parametrize("seed", seeds(1, 2))
@pytest.mark.parametrize("others", [0, 2, 3])
def test_autoscaled_job_grows_as_try_says(seed: int, others: int) -> None:
    async def story(sim: Simulation) -> None:
        if others:
            sim.submit(ray_job("others", workers=others, seconds=10_000))
        await settle(sim)
        state, of = await tried(sim, elastic("dev", least=1, asks=9))
        (group,) = verdict(state, of).growth
        dev = sim.submit(elastic("dev", least=1, asks=9))
        await sim.until(lambda: sim.has(dev, "Admitted"), "it starts")
        await sim.until(lambda: granted(sim, dev) == group.fits, "it has what was said", 1)
        await sim.stays(lambda: granted(sim, dev) == group.fits, "no more fits", 1)

    Simulation(seed, platform(4)).run(story)


@pytest.mark.parametrize("seed", seeds(1, 2))
def test_production_preempts_the_surplus_that_try_names(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(elastic("dev", asks=6))
        await sim.until(lambda: sim.has(dev, "Admitted"), "dev starts", 1)
        await sim.until(lambda: granted(sim, dev) == 6, "dev has all of the quota", 2)
        prod = ray_job("prod", workers=3, priority="prod-priority", seconds=30)
        answer = verdict(*await tried(sim, prod))
        (shrink,) = answer.shrinks
        assert (answer.answer, answer.preemptions) == (VerdictKind.PREEMPTS, ())
        sim.submit(prod)
        await sim.until(lambda: granted(sim, dev) == 6 - shrink.replicas, "dev has lost its surplus", 1)
        assert not sim.has(dev, "Evicted")

    Simulation(seed, platform()).run(story)


@pytest.mark.parametrize("seed", seeds(*range(8)))
def test_controller_decides_as_try_says(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        random = Random(seed)
        await settle(sim)
        for number in range(JOBS):
            job = drawn(random, f"job-{number}")
            before = preempted(sim)
            state, of = await tried(sim, job)
            answer = verdict(state, of)
            key = sim.submit(job)
            await settle(sim)
            assert preempted(sim) - before == {preemption.workload for preemption in answer.preemptions}
            if answer.answer in (VerdictKind.FITS, VerdictKind.PREEMPTS):
                assert answer.admission is not None
                assert flavors(sim, key) == {
                    preemption.name: preemption.flavors for preemption in answer.admission.pod_sets
                }
            else:
                assert answer.message in sim.waits(key)

    Simulation(seed, local_stack(check=False)).run(story)


@pytest.mark.parametrize("seed", seeds(*range(4)))
def test_jobs_are_admitted_when_eta_says(seed: int) -> None:
    """The estimate with declared run times excludes the delays of KubeRay and the pods."""

    async def story(sim: Simulation) -> None:
        random = Random(seed)
        await settle(sim)
        jobs = []
        for number in range(JOBS):
            seconds = random.randint(60, 600)
            job = ray_job(f"job-{number}", workers=random.randint(2, 4), seconds=seconds)
            job["metadata"]["labels"][MAX_EXEC_TIME_LABEL] = str(seconds + SLACK_S)
            jobs.append(sim.submit(job))
        await settle(sim)
        assert sim.kube is not None
        observed_objects = await observed(sim.kube)
        state = live_state(observed_objects.cluster, Configuration(), sim.wall_clock_ms())
        said_ms = {
            key: estimated_start(state, key_of(workload), ASSUMED, [0]).starts_ms[0]
            for key in jobs
            if (workload := sim.workload(key)) and not sim.has(key, "QuotaReserved")
        }
        assert len(said_ms) >= 2
        await sim.until(lambda: all(sim.state(key) == "Complete" for key in jobs), "all complete", 90)
        for key, at_ms in said_ms.items():
            admitted_ms = millis(condition(sim.workload(key), "Admitted")["lastTransitionTime"])
            assert at_ms is not None
            assert abs(admitted_ms - at_ms) <= 1000 * SLACK_S * JOBS, key

    Simulation(seed, local_stack(check=False)).run(story)
