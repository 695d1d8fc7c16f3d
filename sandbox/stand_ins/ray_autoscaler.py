"""Stand-in for Ray's autoscaler (v2): scales the worker groups of RayClusters with simulated pods.

The annotation `sandbox.muster.dev/workers`, such as `gpu=6,cpu=2`, is the number of replicas that each
group has work for; KubeRay copies it from a RayJob or RayService to its RayCluster. Without it, the groups
keep their replicas. Like Ray's, it reads the limits in each loop (ray_scaling.py).

Not simulated: the resources of tasks, idle timeouts, and the autoscaler's own account.
"""

import logging
import threading
import time
from collections.abc import Mapping, Sequence

import httpx2
from lightkube import Client
from lightkube.core.exceptions import ApiError
from lightkube.types import PatchType

from sandbox.cluster import kinds
from sandbox.cluster.kinds import Object
from sandbox.stand_ins.ray_scaling import scaled_group
from sandbox.stand_ins.ray_serve import CLUSTER_LABEL, HEAD_LABELS
from sandbox.stand_ins.reflector import Reflector

WORKERS = "sandbox.muster.dev/workers"
LOOP_SECONDS = 2.0  # Ray's is 5 s

log = logging.getLogger("ray-autoscaler")


def work_of(cluster: Object) -> Mapping[str, int]:
    """Returns the replicas that each group has work for; ignores what is not `group=number`."""
    text = (cluster["metadata"].get("annotations") or {}).get(WORKERS, "")
    work: dict[str, int] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        group, _, number = part.partition("=")
        if number.isdecimal() and number.isascii():
            work[group] = int(number)
        else:
            log.warning("%s: %s: expected group=number, got %r", "/".join(kinds.key(cluster)), WORKERS, part)
    return work


def scaled(cluster: Object, pods: Sequence[Object]) -> list[Object]:
    """Returns the worker groups of a RayCluster with the replicas that their work needs. `pods` are those of
    the cluster."""
    work = work_of(cluster)
    return [
        scaled_group(group, work.get(group["groupName"], int(group.get("replicas", 0))), pods, _created)
        for group in cluster["spec"].get("workerGroupSpecs", ())
    ]


def _created(pod: Object) -> str:
    return str(pod["metadata"]["creationTimestamp"])


def runs(pods: Sequence[Object]) -> bool:
    """Returns whether the head runs, in which the autoscaler is a container."""
    return any(
        HEAD_LABELS.items() <= pod["metadata"]["labels"].items()
        and (pod.get("status") or {}).get("phase") == "Running"
        and "deletionTimestamp" not in pod["metadata"]
        for pod in pods
    )


class Autoscalers:
    """The autoscalers of all RayClusters."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._clusters = Reflector(client, kinds.RayCluster, lambda *_: None)
        self._pods = Reflector(client, kinds.Pod, lambda *_: None, labels={CLUSTER_LABEL: None})

    def start(self) -> None:
        """Starts the watches, and a thread that scales the clusters."""
        for reflector in (self._clusters, self._pods):
            reflector.start()
        threading.Thread(target=self._run, name="autoscalers", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(LOOP_SECONDS)
            pods = self._pods.objects()
            for cluster in self._clusters.objects():
                if cluster["spec"].get("enableInTreeAutoscaling"):
                    self._scale(cluster, pods)

    def _scale(self, cluster: Object, pods: Sequence[Object]) -> None:
        namespace, name = kinds.key(cluster)
        own = [
            pod
            for pod in pods
            if pod["metadata"]["namespace"] == namespace and pod["metadata"]["labels"][CLUSTER_LABEL] == name
        ]
        groups = scaled(cluster, own)
        if not runs(own) or groups == cluster["spec"].get("workerGroupSpecs"):
            return
        meta = {"resourceVersion": cluster["metadata"]["resourceVersion"]}
        body = {"metadata": meta, "spec": {"workerGroupSpecs": groups}}
        try:
            self._client.patch(kinds.RayCluster, name, body, namespace=namespace, patch_type=PatchType.MERGE)
        except (ApiError, httpx2.HTTPError) as error:  # it has changed: the next loop reads it again
            log.info("%s/%s: %s", namespace, name, error)
