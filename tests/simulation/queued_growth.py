"""A cluster whose GPU nodes are provisioned by request, and a job in it that Ray's autoscaler scales."""

from typing import Any

from muster.kube import kinds
from muster.objects.names import CONSUME_ANNOTATION, GROWTH_LABEL, REQUEST_LABEL
from tests.simulation.api import Body, Change, key_of
from tests.simulation.elastic_gangs import elastic, platform, workers
from tests.simulation.invariants import condition
from tests.simulation.kuberay_pods import GROUP_LABEL, is_gated
from tests.simulation.simulation import Simulation

MINIMUM, QUOTA = 2, 6


def queued(seed: int, *, nodes: int = QUOTA, base_s: int = 60) -> Simulation:
    """Returns a cluster whose GPU nodes are provisioned by request. Fails if a worker runs on nodes of no
    request, or of a request with fewer nodes."""
    retry = {"base_s": base_s}
    sim = Simulation(seed, platform(QUOTA, check=True, retry=retry), nodes=nodes)

    def check(change: Change) -> None:
        if change.kind is kinds.PODS and change.type != "DELETED":
            check_nodes(sim, change.body)

    sim.api.watchers.append(check)
    return sim


def check_nodes(sim: Simulation, pod: Body) -> None:
    if not pod["metadata"]["name"].startswith("dev-") or group_of(pod) != "gpu" or is_gated(pod):
        return
    selector = pod["spec"].get("nodeSelector", {}).get(REQUEST_LABEL)
    name = pod["metadata"].get("annotations", {}).get(CONSUME_ANNOTATION)
    assert selector, f"the gate of {key_of(pod)} was opened without nodes"
    assert name, f"{key_of(pod)} does not name its request"
    uid = selector.removeprefix("resize-")
    owners = [r for r in sim.api.all(kinds.PROVISIONING_REQUESTS) if r["metadata"]["uid"] == uid]
    assert not owners or owners[0]["metadata"]["name"] == name
    running = [p for p in sim.api.all(kinds.PODS) if p["status"]["phase"] not in ("Failed", "Succeeded")]
    same = [p for p in running if p["spec"].get("nodeSelector", {}).get(REQUEST_LABEL) == selector]
    assert len(same) <= sim.cloud.nodes.get(selector, 0), f"{len(same)} pods on the nodes of {name}"


def group_of(pod: Body) -> str:
    return str(pod["metadata"]["labels"].get(GROUP_LABEL, ""))


def growth(sim: Simulation) -> dict[str, int]:
    """Returns the pods of each request for growth, by its number."""
    return {
        r["metadata"]["name"].rpartition("-growth-")[2]: sum(s["count"] for s in r["spec"]["podSets"])
        for r in sim.api.all(kinds.PROVISIONING_REQUESTS)
        if GROWTH_LABEL in r["metadata"]["labels"]
    }


def limit(sim: Simulation) -> int:
    (cluster,) = sim.api.all(kinds.RAY_CLUSTERS)
    return int(cluster["spec"]["workerGroupSpecs"][0]["maxReplicas"])


def writes(sim: Simulation) -> int:
    """Returns the number of the controller's writes about gangs."""
    about = (kinds.WORKLOADS, kinds.RAY_CLUSTERS, kinds.PODS, kinds.PROVISIONING_REQUESTS)
    return sum(change.by == "controller" for kind in about for change in sim.api.journal[kind])


def limit_message(sim: Simulation, job: str) -> str:
    limited = condition(sim.workload(job), "GrowthLimited")
    return str(limited["message"]) if limited.get("status") == "True" else ""


def head(sim: Simulation, job: str) -> list[str]:
    return [pod["metadata"]["uid"] for pod in sim.pods_of(job) if group_of(pod) == "head"]


async def starts(sim: Simulation, **more: Any) -> str:
    """Submits a job that starts with its minimum, and has work for six workers."""
    job = sim.submit(elastic("dev", asks=MINIMUM, seconds=7200, **more))
    await sim.until(lambda: workers(sim, job) == MINIMUM, "it has its minimum", 2)
    sim.autoscaler.demand["dev/gpu"] = 10
    return job
