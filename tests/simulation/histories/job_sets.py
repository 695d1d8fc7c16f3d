"""Actions on JobSets, which share the queues with Jobs and Ray objects."""

from typing import Any

from muster.kube import kinds
from tests.simulation.histories.actions import KINDS, Act, Draw, find
from tests.simulation.jobset_controller import is_over
from tests.simulation.manifests import job_set, replicated_job
from tests.simulation.simulation import Simulation

GPUS_MAX = 4


def draw_job_set(draw: Draw) -> dict[str, Any]:
    pick = draw.random.choice
    names = ("leader", "workers")[: pick((1, 2, 2))]
    jobs: list[dict[str, Any]] = [
        {
            "name": name,
            "replicas": pick((1, 1, 2)),
            "pods": pick((1, 1, 2)),
            "outcome": pick(("SUCCEEDED", "SUCCEEDED", "FAILED")),
            "seconds": pick((2, 10, 40)),
        }
        for name in names
    ]
    # A larger one never fits into the smallest queue, and blocks a queue in strict FIFO order.
    if sum(job["replicas"] * job["pods"] for job in jobs) > GPUS_MAX:
        jobs = [{**job, "replicas": 1} for job in jobs]
    priority = pick(("dev-priority", "dev-priority", "prod-priority", ""))
    return {
        "key": draw.new_key(kinds.JOB_SETS),
        "jobs": jobs,
        "priority": priority,
        "restarts": pick((0, 0, 2)),
    }


def submit(sim: Simulation, key: str, jobs: list[dict[str, Any]], priority: str, restarts: int) -> None:
    namespace, _, name = key.partition("/")
    policy: dict[str, Any] = {"failurePolicy": {"maxRestarts": restarts}} if restarts else {}
    replicated = (replicated_job(**job) for job in jobs)
    sim.submit(job_set(name, *replicated, priority=priority, namespace=namespace, **policy))


def draw_submitted(draw: Draw) -> dict[str, Any]:
    return draw.job(kinds.JOB_SETS)


def toggle_suspend(sim: Simulation, kind: str, key: str) -> None:
    """Starts a JobSet without quota, or stops one with quota."""
    if not is_over(find(sim, kind, key)):
        suspend = sim.has(key, "Admitted", KINDS[kind])
        sim.patch(KINDS[kind], key, {"spec": {"suspend": suspend}})


JOB_SETS = {
    "submit-job-set": Act(4, draw_job_set, submit),
    "toggle-suspend-job-set": Act(1, draw_submitted, toggle_suspend),
}
