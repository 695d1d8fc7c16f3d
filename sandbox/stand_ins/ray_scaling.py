"""The writes of Ray's autoscaler (v2) to a worker group of a RayCluster. Pure; also used by the simulation.

Above `maxReplicas` it removes workers that have not started, then the newest, and below `minReplicas` it adds
some. It writes `replicas` and `scaleStrategy.workersToDelete`.
Source: python/ray/autoscaler/v2/instance_manager/cloud_providers/kuberay/cloud_provider.py at Ray 2.55.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

GROUP_LABEL = "ray.io/group"

Body = dict[str, Any]


def scaled_group(
    group: Mapping[str, Any], work: int, pods: Iterable[Body], age: Callable[[Body], Any]
) -> Body:
    """Returns the worker group with the replicas that its work needs. `pods` are those of the cluster, and
    `age` sorts the oldest first."""
    own = [
        pod
        for pod in pods
        if pod["metadata"]["labels"].get(GROUP_LABEL) == group["groupName"]
        and "deletionTimestamp" not in pod["metadata"]
    ]
    deleting = set((group.get("scaleStrategy") or {}).get("workersToDelete") or ())
    if deleting & {pod["metadata"]["name"] for pod in own}:
        return dict(group)  # the last removal is in progress
    replicas = max(int(group.get("minReplicas", 0)), min(work, int(group.get("maxReplicas", work))))
    changed = {key: value for key, value in group.items() if key != "scaleStrategy"}
    excess = len(own) - replicas * int(group.get("numOfHosts", 1))
    if excess > 0:
        own.sort(key=age, reverse=True)
        own.sort(key=lambda pod: bool(pod["status"].get("phase") == "Running"))
        names = sorted(pod["metadata"]["name"] for pod in own[:excess])
        changed["scaleStrategy"] = {"workersToDelete": names}
    return {**changed, "replicas": replicas}
