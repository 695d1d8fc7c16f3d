"""Actions on Jobs, which share the queues with Ray objects."""

from typing import Any

from muster.kube import kinds
from tests.simulation.histories.actions import KINDS, Act, Draw, find
from tests.simulation.job_controller import is_ended
from tests.simulation.manifests import batch_job
from tests.simulation.simulation import Simulation


def draw_job(draw: Draw) -> dict[str, Any]:
    pick = draw.random.choice
    pods = pick((1, 2, 4, 4))
    fields = {
        "pods": pods,
        "completions": pick((0, pods, 2 * pods)),  # 0: not set
        "priority": pick(("dev-priority", "dev-priority", "prod-priority", "")),
        "outcome": pick(("SUCCEEDED", "SUCCEEDED", "FAILED")),
        "seconds": pick((2, 10, 40)),
    }
    return {"key": draw.new_key(kinds.BATCH_JOBS), **fields}


def submit(sim: Simulation, key: str, completions: int, **fields: Any) -> None:
    namespace, _, name = key.partition("/")
    of_spec: dict[str, Any] = {"completions": completions} if completions else {}
    sim.submit(batch_job(name, namespace=namespace, **fields, **of_spec))


def draw_submitted(draw: Draw) -> dict[str, Any]:
    return draw.job(kinds.BATCH_JOBS)


def toggle_suspend(sim: Simulation, kind: str, key: str) -> None:
    """Starts a Job without quota, or stops one with quota."""
    if not is_ended(find(sim, kind, key)):
        suspend = sim.has(key, "Admitted", KINDS[kind])
        sim.patch(KINDS[kind], key, {"spec": {"suspend": suspend}})


def draw_shrinking(draw: Draw) -> dict[str, Any]:
    return {**draw_submitted(draw), "pods": draw.random.choice((1, 2))}


def shrink(sim: Simulation, kind: str, key: str, pods: int) -> None:
    """Lowers its parallelism, which policies allow."""
    parallelism = min(pods, find(sim, kind, key)["spec"]["parallelism"])
    sim.patch(KINDS[kind], key, {"spec": {"parallelism": parallelism}})


JOBS = {
    "submit-batch-job": Act(4, draw_job, submit),
    "toggle-suspend-batch-job": Act(1, draw_submitted, toggle_suspend),
    "shrink-batch-job": Act(1, draw_shrinking, shrink),
}
