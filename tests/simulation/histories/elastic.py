"""Actions on gangs that Ray's autoscaler scales: their work, and what their tenants may edit."""

from typing import Any

from muster.kube import kinds
from tests.simulation.api import key_of
from tests.simulation.histories.actions import Act, Draw, find, nothing, owned_by
from tests.simulation.histories.tenants import draw_cluster, draw_job, submit
from tests.simulation.simulation import Simulation

BY = "tenant"
REPLICAS = (0, 1, 2, 4, 8, 200)
SCALED = (kinds.RAY_JOBS, kinds.RAY_CLUSTERS)


def draw_elastic(draw: Draw) -> dict[str, Any]:
    job = draw_job(draw)
    return {
        **job,
        "features": [*job["features"], "elastic"],
        "seconds": draw.random.choice((20, 90, 200)),
        "replicas": draw.random.choice(REPLICAS),
    }


def draw_elastic_cluster(draw: Draw) -> dict[str, Any]:
    cluster = draw_cluster(draw)
    return {**cluster, "features": [*cluster["features"], "elastic"]}


def submit_with_demand(sim: Simulation, kind: str, key: str, replicas: int, **fields: Any) -> None:
    """Submits a job that has work for this many replicas as soon as its head runs."""
    change_demand(sim, kind, key, replicas)
    submit(sim, kind, key, **fields)


def draw_demand(draw: Draw) -> dict[str, Any]:
    return {**draw.job(*SCALED), "replicas": draw.random.choice(REPLICAS)}


def change_demand(sim: Simulation, kind: str, key: str, replicas: int) -> None:
    """Changes how many replicas the job has work for."""
    sim.autoscaler.demand[f"{key.rpartition('/')[2]}/gpu"] = replicas


def toggle_autoscaler(sim: Simulation) -> None:
    """Stops all autoscalers, or starts them again."""
    sim.autoscaler.running = not sim.autoscaler.running


def scale_by_hand(sim: Simulation, kind: str, key: str, replicas: int) -> None:
    """Sets `replicas` of an autoscaled RayCluster, and names its workers as to be deleted, whatever they do.
    Policies refuse that for others."""
    job = find(sim, kind, key)
    clusters = [job] if kind == kinds.RAY_CLUSTERS.name else []
    for cluster in [*clusters, *owned_by(sim, kinds.RAY_CLUSTERS, job["metadata"]["uid"])]:
        if not cluster["spec"].get("enableInTreeAutoscaling"):
            continue
        pods = sorted(
            pod["metadata"]["name"] for pod in owned_by(sim, kinds.PODS, cluster["metadata"]["uid"])
        )
        strategy = {"scaleStrategy": {"workersToDelete": pods[1::2]}} if replicas < 2 else {}
        groups = [{**g, "replicas": replicas, **strategy} for g in cluster["spec"]["workerGroupSpecs"]]
        patch = {"spec": {"workerGroupSpecs": groups}}
        sim.api.merge_patch(kinds.RAY_CLUSTERS, key_of(cluster), patch, BY, False)


ELASTIC = {
    "submit-elastic-job": Act(4, draw_elastic, submit_with_demand),
    "submit-elastic-cluster": Act(1, draw_elastic_cluster, submit),
    "change-demand": Act(4, draw_demand, change_demand),
    "toggle-autoscaler": Act(1, nothing, toggle_autoscaler),
    "scale-by-hand": Act(1, draw_demand, scale_by_hand),
}
