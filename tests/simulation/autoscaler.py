"""Ray's autoscaler (v2) by its protocol: it scales the worker groups of a RayCluster whose head runs.

It reads the RayCluster in each loop, and writes `replicas` and `scaleStrategy.workersToDelete` of the groups
that it changes. Above `maxReplicas` it removes workers that have not started, then the newest, and below
`minReplicas` it adds some. Left out: idle timeouts, and the resources of tasks: `demand` is in replicas.
Source: python/ray/autoscaler/v2/instance_manager/cloud_providers/kuberay/cloud_provider.py at Ray 2.55.
"""

import asyncio
import contextlib
from random import Random
from typing import Any

from muster.kube import kinds
from tests.simulation.api import Api, Body, Refused, key_of
from tests.simulation.kuberay_pods import GROUP_LABEL
from tests.simulation.operators import pods_owned_by

LOOP_S = 5.0
BY = "autoscaler"


class Autoscaler:
    """The autoscalers of all heads."""

    def __init__(self, api: Api, random: Random) -> None:
        self._api, self._random = api, random
        self.demand: dict[str, int] = {}  # replicas that a group has work for, by "job/group"
        self.running = True

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._random.uniform(LOOP_S / 2, LOOP_S))
            for cluster in self._api.all(kinds.RAY_CLUSTERS) if self.running else ():
                if cluster["spec"].get("enableInTreeAutoscaling") and self._has_head(cluster):
                    with contextlib.suppress(Refused):
                        self._scale(cluster)

    def _has_head(self, cluster: Body) -> bool:
        return any(
            pod["metadata"]["labels"].get(GROUP_LABEL) == "head"
            and pod["status"]["phase"] == "Running"
            and "deletionTimestamp" not in pod["metadata"]
            for pod in pods_owned_by(self._api, cluster)
        )

    def _scale(self, cluster: Body) -> None:
        groups = [self._scaled(cluster, group) for group in cluster["spec"]["workerGroupSpecs"]]
        if groups != cluster["spec"]["workerGroupSpecs"]:
            patch = {
                "metadata": {"resourceVersion": cluster["metadata"]["resourceVersion"]},
                "spec": {"workerGroupSpecs": groups},
            }
            self._api.merge_patch(kinds.RAY_CLUSTERS, key_of(cluster), patch, BY, False)

    def _scaled(self, cluster: Body, group: Body) -> Body:
        pods = [
            pod
            for pod in pods_owned_by(self._api, cluster)
            if pod["metadata"]["labels"].get(GROUP_LABEL) == group["groupName"]
            and "deletionTimestamp" not in pod["metadata"]
        ]
        names = {pod["metadata"]["name"] for pod in pods}
        deleting = names & set(group.get("scaleStrategy", {}).get("workersToDelete", ()))
        if deleting:
            return group  # the last scale-down is in progress
        low, high = group["minReplicas"], group["maxReplicas"]
        replicas = max(low, min(self._demand(cluster, group), high))
        group = {key: value for key, value in group.items() if key != "scaleStrategy"}
        excess = len(pods) - replicas * group["numOfHosts"]
        if excess > 0:
            started = sorted(pods, key=lambda pod: (pod["status"]["phase"] == "Running", _newest_first(pod)))
            victims = sorted(pod["metadata"]["name"] for pod in started[:excess])
            group["scaleStrategy"] = {"workersToDelete": victims}
        return {**group, "replicas": replicas}

    def _demand(self, cluster: Body, group: Body) -> int:
        owners: list[dict[str, Any]] = cluster["metadata"].get("ownerReferences", [])
        name = owners[0]["name"] if owners else cluster["metadata"]["name"]
        return self.demand.get(f"{name}/{group['groupName']}", int(group["replicas"]))


def _newest_first(pod: Body) -> int:
    return -int(pod["metadata"]["uid"].rpartition("-")[2])
