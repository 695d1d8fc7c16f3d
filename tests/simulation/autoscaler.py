"""Ray's autoscaler (v2) by its protocol: it scales the worker groups of a RayCluster whose head runs.

It reads the RayCluster in each loop, and writes the groups that it changes. Left out: idle timeouts, and the
resources of tasks: `demand` is in replicas.
"""

import asyncio
import contextlib
from random import Random
from typing import Any

from muster.kube import kinds
from sandbox.stand_ins.ray_scaling import scaled_group
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
        pods = list(pods_owned_by(self._api, cluster))
        groups = [
            scaled_group(group, self._demand(cluster, group), pods, _serial)
            for group in cluster["spec"]["workerGroupSpecs"]
        ]
        if groups != cluster["spec"]["workerGroupSpecs"]:
            patch = {
                "metadata": {"resourceVersion": cluster["metadata"]["resourceVersion"]},
                "spec": {"workerGroupSpecs": groups},
            }
            self._api.merge_patch(kinds.RAY_CLUSTERS, key_of(cluster), patch, BY, False)

    def _demand(self, cluster: Body, group: Body) -> int:
        owners: list[dict[str, Any]] = cluster["metadata"].get("ownerReferences", [])
        name = owners[0]["name"] if owners else cluster["metadata"]["name"]
        return self.demand.get(f"{name}/{group['groupName']}", int(group["replicas"]))


def _serial(pod: Body) -> int:
    return int(pod["metadata"]["uid"].rpartition("-")[2])
