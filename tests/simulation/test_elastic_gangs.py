"""Gangs that Ray's autoscaler scales: growth, shrinking and preemption of surplus."""

import asyncio
from typing import Any

import pytest

from muster.kube import kinds
from muster.objects.names import SHRINKS_ANNOTATION
from muster.objects.names import WAIT_ANNOTATION as WAIT
from tests.simulation.api import Body, key_of
from tests.simulation.elastic_gangs import elastic, elastic_service, granted, platform, workers
from tests.simulation.invariants import condition
from tests.simulation.kuberay_pods import is_gated
from tests.simulation.manifests import ray_job
from tests.simulation.ray_services import VERSIONS
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SEEDS = seeds(1, 2, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_gang_starts_at_its_minimum_and_grows_as_its_work_and_quota_allow(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        job = sim.submit(elastic("dev", asks=2))
        await sim.until(lambda: workers(sim, job) == 2, "it has its minimum")
        sim.autoscaler.demand["dev/gpu"] = 10
        await sim.until(lambda: workers(sim, job) == 6, "it has all of the quota", 2)
        await sim.stays(lambda: workers(sim, job) == 6, "it has all of the quota", 2)
        await sim.until(lambda: not workers(sim, job, gated=True), "no pod waits for quota")
        sim.autoscaler.demand["dev/gpu"] = 3
        await sim.until(lambda: granted(sim, job) == 3 and workers(sim, job) == 3, "it has shrunk", 1)
        await sim.until(lambda: not sim.has(job, "Shrinking"), "the workers have ended", 1)
        reasons = sim.history(kinds.WORKLOADS, lambda w: condition(w, "Shrinking").get("reason"))
        assert reasons[-2:] == ["ScaledDown", "Shrunk"]

    Simulation(seed, platform()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_replicas_of_the_manifest_are_growth(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        job = sim.submit(elastic("dev", asks=9))
        await sim.until(lambda: workers(sim, job) == 6, "it has what fits", 2)

    Simulation(seed, platform()).run(story)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_service_scales_with_its_traffic(seed: int, version: str) -> None:
    async def story(sim: Simulation) -> None:
        of = kinds.RAY_SERVICES
        service = sim.submit(elastic_service("llm", least=1))
        await sim.until(lambda: workers(sim, service) == 1, "it has its minimum", 2)
        sim.autoscaler.demand["llm/gpu"] = 5
        await sim.until(lambda: granted(sim, service, of) == workers(sim, service) == 5, "it has grown", 2)
        sim.autoscaler.demand["llm/gpu"] = 2
        await sim.until(lambda: granted(sim, service, of) == workers(sim, service) == 2, "it has shrunk", 2)
        assert sim.has(service, "PodsReady", of)

    Simulation(seed, platform(), kuberay=version).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_production_preempts_surplus_and_the_gang_goes_on(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(elastic("dev", asks=6))
        await sim.until(lambda: workers(sim, dev) == 6, "dev has all of the quota", 2)
        prod = sim.submit(ray_job("prod", workers=3, priority="prod-priority", seconds=30))
        await sim.until(lambda: sim.state(prod) == "Running", "production runs", 1.5)
        assert (granted(sim, dev), workers(sim, dev)) == (3, 3)
        assert not sim.has(dev, "Evicted")
        sim.autoscaler.demand["dev/gpu"] = 8
        await sim.until(lambda: sim.state(prod) == "Complete", "production ends", 3)
        await sim.until(lambda: workers(sim, dev) == 6, "dev has grown again", 3)

    Simulation(seed, platform()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_quota_that_a_preemptor_waits_for_is_not_offered(seed: int) -> None:
    """Two GPUs are free, and production waits for a third: workers would be created only to wait."""

    async def story(sim: Simulation) -> None:
        dev = sim.submit(elastic("dev", asks=3))
        other = sim.submit(elastic("other", least=1, asks=1))
        await sim.until(lambda: (workers(sim, dev), workers(sim, other)) == (3, 1), "both run", 2)
        prod = sim.submit(ray_job("prod", workers=3, priority="prod-priority", seconds=30))
        await sim.until(lambda: sim.has(dev, "Shrinking"), "a worker of dev is preempted", 1)
        await asyncio.sleep(1)  # limits are written in the next pass
        sim.autoscaler.demand["other/gpu"] = 8
        created: set[str] = set()
        while sim.state(prod) != "Running":
            created |= {key_of(pod) for pod in sim.pods_of(other) if is_gated(pod)}
            await asyncio.sleep(0.2)
        assert created == set()

    Simulation(seed, platform()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_surplus_is_removed_even_if_the_autoscaler_does_not(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(elastic("dev", asks=6))
        await sim.until(lambda: workers(sim, dev) == 6, "dev has all of the quota", 2)
        sim.autoscaler.running = False
        prod = sim.submit(ray_job("prod", workers=3, priority="prod-priority", seconds=30))
        await sim.until(lambda: sim.state(prod) == "Running", "production runs", 2.5)
        assert not sim.has(dev, "Evicted")

    Simulation(seed, platform()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_evicted_gang_comes_back_at_its_minimum(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(elastic("dev", asks=6))
        await sim.until(lambda: workers(sim, dev) == 6, "dev has all of the quota", 2)
        prod = sim.submit(ray_job("prod", workers=5, priority="prod-priority", seconds=30))
        await sim.until(lambda: sim.state(prod) == "Running", "production runs", 3)
        assert condition(sim.workload(dev), "Preempted")["status"] == "True"
        group = sim.job(dev)["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]
        await sim.until(lambda: size(sim, dev) == (2, 8, 6), "its own sizes are restored")
        assert not group["template"]["spec"].get("schedulingGates")
        await sim.until(lambda: workers(sim, dev) >= 2, "dev runs again", 4)

    Simulation(seed, platform()).run(story)


def messages(sim: Simulation, job: str, kind: str, status: str = "True") -> list[str]:
    """Returns the different messages of a condition of a job's Workload with a status, in order."""
    prefix = f"rayjob-{job.partition('/')[2]}-"
    history = sim.history(kinds.WORKLOADS, lambda w: (w["metadata"]["name"], condition(w, kind)))
    shown = (of for name, of in history if name.startswith(prefix) and of.get("status") == status)
    return list(dict.fromkeys(str(of["message"]) for of in shown))


def events(sim: Simulation, kind: str, name: str) -> list[str]:
    """Returns the reasons of the events of an object, in order."""
    created = (change.body for change in sim.api.journal[kinds.EVENTS])
    about = [e for e in created if (e["involvedObject"]["kind"], e["involvedObject"]["name"]) == (kind, name)]
    return [event["reason"] for event in about]


def deadline(sim: Simulation, job: str) -> str:
    """Returns when the workers of a job go, by its head; empty if they stay."""
    announced = (p["metadata"].get("annotations", {}).get(SHRINKS_ANNOTATION) for p in sim.pods_of(job))
    return next((str(at) for at in announced if at), "")


NEEDS_GPU = (
    "a worker needs 1 nvidia.com/gpu of flavor l4 but ClusterQueue team-a has 0 of 6 left and cohort ml has "
    "nothing to lend"
)


@pytest.mark.parametrize("seed", SEEDS)
def test_user_sees_growth_its_limit_and_the_notice(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(elastic("dev", asks=9, most=12))
        await sim.until(lambda: workers(sim, dev) == 6, "dev has all of the quota", 2)
        at_limit = f"6 of up to 12 workers granted in group gpu; it can't grow because {NEEDS_GPU}"
        await sim.until(lambda: messages(sim, dev, "GrowthLimited")[-1:] == [at_limit], "at its limit", 2)
        asks = f"6 of 9 workers granted in group gpu; the next 3 wait because {NEEDS_GPU}"
        assert messages(sim, dev, "GrowthLimited") == [asks, at_limit]
        await sim.until(
            lambda: "GrowthLimited" in sim.job(dev)["metadata"]["annotations"].get(WAIT, ""), "told"
        )
        prod = sim.submit(ray_job("prod", workers=3, priority="prod-priority", seconds=30))
        await sim.until(lambda: sim.has(dev, "Shrinking"), "dev shrinks", 1)
        (notice,) = messages(sim, dev, "Shrinking")
        assert notice.startswith("Returns 3 workers of group gpu to ClusterQueue team-a by ")
        assert " UTC (notice). Preempted to accommodate workload team-a/rayjob-prod-" in notice
        await sim.until(lambda: f"by {deadline(sim, dev)[11:19]} UTC" in notice, "its head is told", 0.1)
        await sim.until(lambda: sim.state(prod) == "Running", "production runs", 1.5)
        waits = messages(sim, prod, "QuotaReserved", "False")
        assert any("preempted replicas of team-a/rayjob-dev-" in message for message in waits)
        assert not any("+" in message for message in waits), "names of the core's surplus"
        await sim.until(lambda: "Shrunk" in events(sim, "RayJob", "dev"), "the end is an event", 1)
        in_order = [r for r in events(sim, "RayJob", "dev") if r in ("Grew", "Shrinking", "Shrunk")]
        assert in_order == ["Grew", "Shrinking", "Shrunk"]
        assert "GrowthLimited" in events(sim, "RayJob", "dev")
        await sim.until(lambda: not deadline(sim, dev), "the head is told that it is over", 0.1)

    Simulation(seed, platform()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_limit_ends_with_free_quota_and_with_the_quota_of_the_gang(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(elastic("dev", asks=6))
        await sim.until(lambda: sim.has(dev, "GrowthLimited"), "all quota is used", 2)
        sim.autoscaler.demand["dev/gpu"] = 3
        await sim.until(lambda: not sim.has(dev, "GrowthLimited"), "quota is free", 1)
        assert condition(sim.workload(dev), "GrowthLimited")["reason"] == "QuotaAvailable"
        sim.autoscaler.demand["dev/gpu"] = 8
        await sim.until(lambda: sim.has(dev, "GrowthLimited"), "all quota is used again", 2)
        prod = sim.submit(ray_job("prod", workers=5, priority="prod-priority", seconds=30))
        await sim.until(lambda: sim.state(prod) == "Running", "production runs", 3)
        kinds_of = {c["type"] for c in (sim.workload(dev) or {})["status"]["conditions"]}
        assert not kinds_of & {"GrowthLimited", "Shrinking"}, "dev waits, and has no size"

    Simulation(seed, platform()).run(story)


def size(sim: Simulation, job: str) -> tuple[int, int, int]:
    group = sim.job(job)["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]
    return group["minReplicas"], group["maxReplicas"], group["replicas"]


@pytest.mark.parametrize("seed", SEEDS)
def test_growers_share_what_is_free_and_the_controller_rests(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        jobs = [sim.submit(elastic(f"dev{n}", least=1, asks=1)) for n in range(3)]
        await sim.until(lambda: all(workers(sim, job) == 1 for job in jobs), "all run", 3)
        sim.autoscaler.demand |= {f"dev{n}/gpu": 8 for n in range(3)}
        await sim.until(lambda: sum(workers(sim, job) for job in jobs) == 6, "all quota is used", 3)
        await sim.until(lambda: not any(workers(sim, job, gated=True) for job in jobs), "no pod waits", 2)
        writes = len(sim.api.journal[kinds.RAY_CLUSTERS])
        await sim.stays(lambda: sum(workers(sim, job) for job in jobs) == 6, "all quota is used", 5)
        assert len(sim.api.journal[kinds.RAY_CLUSTERS]) - writes <= 6

    Simulation(seed, platform()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_limits_do_not_flap_while_growth_cannot_be_written(seed: int) -> None:
    """The core has granted what its Workload does not say yet, so nothing seems free."""

    def refuses_growth(kind: kinds.Kind[Any], body: Body) -> str:
        assigned = body.get("status", {}).get("admission", {}).get("podSetAssignments", ())
        grown = kind is kinds.WORKLOADS and any(a["count"] > 2 for a in assigned)
        return "status.admission is immutable" if grown else ""

    async def story(sim: Simulation) -> None:
        job = sim.submit(elastic("dev", asks=2))
        await sim.until(lambda: workers(sim, job) == 2, "it has its minimum")
        sim.api.update_refusal = refuses_growth
        sim.autoscaler.demand["dev/gpu"] = 10
        await sim.stays(lambda: workers(sim, job) == 2, "growth is refused", 5)
        limits = sim.history(kinds.RAY_CLUSTERS, lambda c: c["spec"]["workerGroupSpecs"][0]["maxReplicas"])
        assert len(limits) <= 4, limits
        sim.api.update_refusal = lambda kind, body: ""
        await sim.until(lambda: workers(sim, job) == 6, "it grows", 3)

    Simulation(seed, platform()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_waiting_gang_gets_the_quota_of_idle_workers(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(elastic("dev", asks=6))
        await sim.until(lambda: workers(sim, dev) == 6, "dev has all of the quota", 2)
        other = sim.submit(ray_job("other", workers=4, priority="", seconds=30))
        await sim.until(lambda: bool(sim.waits(other)), "the other waits")
        sim.autoscaler.demand["dev/gpu"] = 0
        await sim.until(lambda: sim.state(other) == "Running", "the other runs", 1)
        assert key_of(sim.job(dev)) == dev

    Simulation(seed, platform()).run(story)
