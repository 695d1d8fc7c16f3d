"""An autoscaled RayJob in a live cluster."""

from typing import Any

from muster.kube import kinds
from muster.objects.ray import ORIGIN_LABEL
from tests.simulation.manifests import ray_cluster, ray_cluster_spec, ray_job
from tests.unit.controller.builders import Body, controlled_by, stored
from tests.unit.live.builders import running, since, waiting

LIMITED = "2 of 3 workers granted in group gpu; the next 1 waits because a worker needs 1 nvidia.com/gpu"
NOTICE = "Returns 1 worker of group gpu to ClusterQueue team-a by 08:02:35 UTC (notice). Preempted"


def elastic(replicas: int = 3, most: int | None = 4, name: str = "scaled") -> Body:
    """A RayJob of at least one worker."""
    return ray_job(name, rayClusterSpec=_spec(replicas, most))


def _spec(replicas: int, most: int | None) -> dict[str, Any]:
    spec = ray_cluster_spec(replicas)
    group = {**spec["workerGroupSpecs"][0], "minReplicas": 1}
    group.pop("maxReplicas")
    group |= {} if most is None else {"maxReplicas": most}
    return {**spec, "enableInTreeAutoscaling": True, "workerGroupSpecs": [group]}


def waiting_elastic(**sizes: Any) -> Body:
    """Returns the Workload of an elastic gang without quota."""
    return waiting(elastic(**sizes))


def running_elastic(granted: int = 2, shrinking: bool = False, limited: bool = True, **sizes: Any) -> Body:
    """Returns the Workload of an elastic gang with quota for these workers."""
    body = running(elastic(**sizes))
    for assigned in body["status"]["admission"]["podSetAssignments"]:
        if assigned["name"] == "gpu":
            assigned["count"] = granted
            assigned["resourceUsage"] = dict.fromkeys(assigned["resourceUsage"], str(granted))
    conditions = body["status"]["conditions"]
    conditions += [{**since("GrowthLimited", 5), "message": LIMITED}] if limited else []
    conditions += [{**since("Shrinking", 5), "message": NOTICE}] if shrinking else []
    return body


def objects(asked: int = 3, runs: int = 2, **sizes: Any) -> dict[str, list[Body]]:
    """The RayJob, and its RayCluster, for which Ray's autoscaler asks for workers; by name of the kind."""
    child = ray_cluster("scaled-raycluster")
    child["spec"] = {**_spec(asked, asked), "suspend": False}
    child["status"] = {"availableWorkerReplicas": runs}
    owner = controlled_by(kinds.RAY_JOBS, "scaled")
    return {
        "RAY_JOBS": [stored({**elastic(**sizes), "spec": {**elastic(**sizes)["spec"], "suspend": False}})],
        "RAY_CLUSTERS": [stored(child, ownerReferences=[owner], labels={ORIGIN_LABEL: "RayJob"})],
    }
