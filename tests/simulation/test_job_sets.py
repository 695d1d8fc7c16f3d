"""JobSets beside Jobs and RayJobs, in virtual time; invariants are checked after every write."""

import pytest

from muster.kube import kinds
from muster.objects.names import WORKLOAD_UID_LABEL
from tests.simulation.api import Body
from tests.simulation.invariants import condition
from tests.simulation.job_controller import is_ended
from tests.simulation.jobset_controller import is_over
from tests.simulation.manifests import batch_job, job_set, local_stack, ray_job, replicated_job
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SEEDS = seeds(1, 2, 3)
JOB_SET, JOB = kinds.JOB_SETS, kinds.BATCH_JOBS


def running(sim: Simulation, key: str) -> int:
    """Returns the number of its Jobs that are ready."""
    states: list[Body] = sim.api.get(JOB_SET, key).get("status", {}).get("replicatedJobsStatus", [])
    return sum(state["ready"] for state in states)


def labelled_pods(sim: Simulation, key: str) -> list[Body]:
    """Returns the pods with the label of its Workload."""
    workload = sim.workload(key, JOB_SET)
    assert workload is not None
    uid = workload["metadata"]["uid"]
    return [p for p in sim.api.all(kinds.PODS) if p["metadata"]["labels"].get(WORKLOAD_UID_LABEL) == uid]


def restarts(sim: Simulation, key: str) -> int:
    return int(sim.api.get(JOB_SET, key).get("status", {}).get("restarts", 0))


def end(sim: Simulation, key: str) -> str:
    return str(sim.api.get(JOB_SET, key).get("status", {}).get("terminalState", ""))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_ray_job_preempts_a_job_set_which_starts_again(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(job_set("dev", replicated_job("workers", seconds=60)))
        await sim.until(lambda: running(sim, dev) == 2, "dev runs")
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(prod) == "Running", "prod runs")
        assert running(sim, dev) == 0
        assert "of priority 1000" in condition(sim.workload(dev, JOB_SET), "Preempted")["message"]
        await sim.until(lambda: sim.state(prod) == "Complete", "prod completes")
        await sim.until(lambda: end(sim, dev) == "Completed", "dev completes")
        await sim.until(lambda: sim.has(dev, "Finished", JOB_SET), "its Workload is finished")
        await sim.until(lambda: not sim.requests() and not sim.reserved(), "all capacity is released")

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_set_resumed_without_quota_is_suspended_until_it_is_admitted(seed: int) -> None:
    """The pods have the label of the Workload, which the JobSet controller keeps from the last run."""

    async def story(sim: Simulation) -> None:
        dev = sim.submit(job_set("dev", replicated_job("workers", seconds=60)))
        await sim.until(lambda: running(sim, dev) == 2, "dev runs")
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(prod) == "Running", "prod runs")
        sim.kill()  # else the controller may suspend it before the JobSet controller resumes its Jobs
        sim.patch(JOB_SET, dev, {"spec": {"suspend": False}})
        await sim.until(lambda: bool(labelled_pods(sim, dev)), "the JobSet controller resumes its Jobs")
        await sim.until(lambda: not labelled_pods(sim, dev), "they are suspended")
        assert sim.api.get(JOB_SET, dev)["spec"]["suspend"]
        assert sim.state(prod) == "Running"
        await sim.until(lambda: end(sim, dev) == "Completed", "dev is admitted again, and completes")

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_set_preempts_a_job(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(batch_job("dev", seconds=60))
        await sim.until(lambda: sim.has(dev, "Admitted", JOB), "dev is admitted")
        leader = replicated_job("leader", replicas=1, pods=1)
        prod = sim.submit(
            job_set("prod", leader, replicated_job("workers", pods=1), priority="prod-priority")
        )
        await sim.until(lambda: running(sim, prod) == 3, "prod runs")
        await sim.until(lambda: end(sim, prod) == "Completed", "prod completes")
        await sim.until(lambda: is_ended(sim.api.get(JOB, dev)), "dev completes")

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_failed_job_set_restarts_within_its_quota(seed: int) -> None:
    """All Jobs start again, also those that have succeeded: their quota is not released before."""

    async def story(sim: Simulation) -> None:
        jobs = (
            replicated_job("short", replicas=1, seconds=5),
            replicated_job("long", replicas=1, seconds=30, outcome="FAILED"),
        )
        dev = sim.submit(job_set("dev", *jobs, failurePolicy={"maxRestarts": 2}))
        await sim.until(lambda: sim.has(dev, "Admitted", JOB_SET), "dev is admitted")
        waits = sim.submit(batch_job("waits", pods=2, seconds=120))
        await sim.until(lambda: restarts(sim, dev) == 2, "dev restarts twice")
        assert not sim.has(waits, "QuotaReserved", JOB)
        await sim.until(lambda: end(sim, dev) == "Failed", "dev fails")
        await sim.until(lambda: is_ended(sim.api.get(JOB, waits)), "the Job behind it completes")

    Simulation(seed, local_stack(check=False)).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_quota_of_jobs_that_succeeded_is_released(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        short = replicated_job("short", replicas=1, seconds=5)
        dev = sim.submit(job_set("dev", short, replicated_job("long", replicas=1, seconds=250)))
        await sim.until(lambda: running(sim, dev) == 2, "dev runs")
        waits = sim.submit(batch_job("waits", pods=2))
        await sim.until(lambda: is_ended(sim.api.get(JOB, waits)), "the Job behind it completes", 3)
        assert not is_over(sim.api.get(JOB_SET, dev))

    Simulation(seed, local_stack(check=False)).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_its_jobs_get_no_workload(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(job_set("dev"))
        await sim.until(lambda: end(sim, dev) == "Completed", "dev completes")
        created: list[Body] = [c.body for c in sim.api.journal[kinds.WORKLOADS] if c.type == "ADDED"]
        assert [w["metadata"]["ownerReferences"][0]["kind"] for w in created] == ["JobSet"]

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cluster_may_lack_job_sets(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev"))
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")
        sim.api.serve_again(JOB_SET)
        late = sim.submit(job_set("late"))
        await sim.until(lambda: end(sim, late) == "Completed", "it completes once they are served", 10)

    simulation = Simulation(seed, local_stack())
    simulation.api.stop_serving(JOB_SET)
    simulation.run(story)
