"""LeaderWorkerSets beside RayJobs, in virtual time; invariants are checked after every write."""

import pytest

from muster.kube import kinds
from muster.objects.names import COUNT_ANNOTATION
from tests.simulation.api import Body, key_of
from tests.simulation.invariants import condition
from tests.simulation.manifests import WORKER, leader_worker_set, local_stack, ray_job
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SEEDS = seeds(1, 2, 3)
LWS = kinds.LEADER_WORKER_SETS
POOL = {"cloud.google.com/gke-nodepool": "l4"}


def ready(sim: Simulation, key: str) -> int:
    """Returns the number of its groups that are ready."""
    return int(sim.api.get(LWS, key).get("status", {}).get("readyReplicas", 0))


def pods(sim: Simulation, key: str) -> list[Body]:
    return [pod for pod in sim.api.all(kinds.PODS) if key_of(pod).startswith(f"{key}-")]


def worker_selector(sim: Simulation, key: str) -> Body:
    template: Body = sim.api.get(LWS, key)["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    return dict(template["spec"].get("nodeSelector", {}))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_ray_job_preempts_it_and_it_starts_again(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(leader_worker_set("dev", leaderTemplate=WORKER))
        await sim.until(lambda: ready(sim, dev) == 2, "dev serves with both groups")
        assert worker_selector(sim, dev) == POOL
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(prod) == "Running", "prod runs")
        assert all(pod["status"]["phase"] == "Failed" for pod in pods(sim, dev)), "ended ones hold nothing"
        lws = sim.api.get(LWS, dev)
        assert (lws["spec"]["replicas"], lws["metadata"]["annotations"][COUNT_ANNOTATION]) == (0, "2")
        assert "of priority 1000" in condition(sim.workload(dev, LWS), "Preempted")["message"]
        await sim.until(lambda: not worker_selector(sim, dev), "its placement is removed")
        await sim.until(lambda: sim.state(prod) == "Complete", "prod completes")
        await sim.until(lambda: ready(sim, dev) == 2, "dev serves again")
        sim.api.delete(LWS, dev, "user")
        await sim.until(lambda: not sim.reserved() and not pods(sim, dev), "all capacity is released")

    Simulation(seed, local_stack(check=False)).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_started_by_hand_without_quota_it_is_stopped(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        prod = sim.submit(ray_job("prod", priority="prod-priority", seconds=60))
        await sim.until(lambda: sim.state(prod) == "Running", "prod runs")
        dev = sim.submit(leader_worker_set("dev"))
        await sim.until(lambda: sim.workload(dev, LWS) is not None, "dev waits")
        sim.patch(LWS, dev, {"spec": {"replicas": 2}})
        await sim.until(lambda: sim.api.get(LWS, dev)["spec"]["replicas"] == 0, "it is stopped")
        assert sim.state(prod) == "Running"
        await sim.until(lambda: ready(sim, dev) == 2, "it serves once it is admitted")

    Simulation(seed, local_stack(check=False)).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_failed_pod_restarts_its_group_within_its_quota(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(leader_worker_set("dev"))
        await sim.until(lambda: ready(sim, dev) == 2, "dev serves")
        (worker,) = [pod for pod in pods(sim, dev) if key_of(pod) == f"{dev}-0-1"]
        sim.api.merge_patch(kinds.PODS, key_of(worker), {"status": {"phase": "Failed"}}, "kubelet", True)
        await sim.until(lambda: ready(sim, dev) == 1, "its group restarts")
        await sim.until(lambda: ready(sim, dev) == 2, "both groups serve again")
        (again,) = [pod for pod in pods(sim, dev) if key_of(pod) == key_of(worker)]
        assert again["metadata"]["uid"] != worker["metadata"]["uid"]
        assert sim.has(dev, "Admitted", LWS)

    Simulation(seed, local_stack(check=False)).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_update_with_a_surge_stays_within_its_quota(seed: int) -> None:
    """Two pods a group: one group and one that replaces it take the queue's four GPUs."""

    async def story(sim: Simulation) -> None:
        dev = sim.submit(leader_worker_set("dev", groups=1, max_surge=1))
        await sim.until(lambda: ready(sim, dev) == 1, "dev serves")
        waits = sim.submit(ray_job("waits", workers=1))
        env = {"metadata": {"annotations": {"image": "new"}}}
        sim.patch(LWS, dev, {"spec": {"leaderWorkerTemplate": {"workerTemplate": env}}})
        await sim.until(lambda: len(pods(sim, dev)) > 2, "a second group starts")

        def is_updated() -> bool:
            own = pods(sim, dev)
            return len(own) == 2 and all(p["metadata"]["annotations"].get("image") == "new" for p in own)

        await sim.until(is_updated, "the group is replaced")
        assert not sim.has(waits, "QuotaReserved")

    Simulation(seed, local_stack(check=False)).run(story)
