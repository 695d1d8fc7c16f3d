"""The LeaderWorkerSet controller and Kubernetes' StatefulSet controller by their protocols.

The first one keeps a StatefulSet of leaders, and one of workers for each leader, which the leader owns. A
change of the templates replaces all groups, with maxSurge further ones at a time; a failed pod restarts its
group. Left out: partitions, subgroups, the startup policy LeaderReady, Services.
Source: LeaderWorkerSet v0.8.0 pkg/controllers/leaderworkerset_controller.go and pod_controller.go.
"""

import contextlib
import json
from copy import deepcopy
from random import Random

from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.objects.lws import SET_NAME_LABEL, WORKER_INDEX_LABEL
from muster.objects.meta import Object
from muster.objects.names import POD_SET_LABEL
from tests.simulation.api import Api, Body, Refused, key_of
from tests.simulation.kuberay_pods import GROUP_LABEL
from tests.simulation.operators import owned, pods_owned_by
from tests.simulation.sweeps import Sweeps

STATEFUL_SETS = Kind("apps", "v1", "StatefulSet", "statefulsets", Object, namespaced=True)
LWS = kinds.LEADER_WORKER_SETS
BY, BY_SETS = "lws controller", "statefulset controller"
REVISION = "leaderworkerset.sigs.k8s.io/template-revision-hash"
SWEEP_S_MAX = 0.5


class LeaderWorkerSetController:
    """Reconciles all LeaderWorkerSets, and the leaders, in each sweep."""

    def __init__(self, api: Api, random: Random) -> None:
        self._api = api
        self._sweeps = Sweeps(api, random, SWEEP_S_MAX)

    async def run(self) -> None:
        while True:
            await self._sweeps.next()
            for lws in self._api.all(LWS):
                if "deletionTimestamp" not in lws["metadata"]:
                    with contextlib.suppress(Refused):
                        self._reconcile(lws)

    def _reconcile(self, lws: Body) -> None:
        leaders, group = self._api.find(STATEFUL_SETS, key_of(lws)), lws["spec"]["leaderWorkerTemplate"]
        template = group.get("leaderTemplate") or group["workerTemplate"]
        revision = json.dumps(group, sort_keys=True)
        spec = {"replicas": lws["spec"]["replicas"], "template": _labelled(template, lws, "0", revision)}
        if leaders is None:
            body = {"metadata": owned(LWS, lws, key_of(lws)), "spec": spec}
            leaders = self._api.create(STATEFUL_SETS, body, BY)
        pods = [pod for pod in pods_owned_by(self._api, leaders) if _is_live(pod)]
        ready = [pod for pod in pods if self._is_ready(pod, group["size"])]
        updated = [pod for pod in ready if pod["metadata"]["annotations"][REVISION] == revision]
        if pods and len(updated) < len(pods):
            spec["replicas"] += surge_of(lws)
        if {**leaders["spec"], **spec} != leaders["spec"]:
            self._api.merge_patch(STATEFUL_SETS, key_of(leaders), {"spec": spec}, BY, False)
        for leader in pods:
            self._reconcile_group(lws, leader, group)
        self._report(lws, leaders, len(ready))

    def _reconcile_group(self, lws: Body, leader: Body, group: Body) -> None:
        workers = self._api.find(STATEFUL_SETS, key_of(leader))
        if any(pod["status"]["phase"] == "Failed" for pod in (leader, *pods_owned_by(self._api, workers))):
            self._api.delete(kinds.PODS, key_of(leader), BY)
        elif workers is None and group["size"] > 1:
            revision = leader["metadata"]["annotations"][REVISION]
            template = _labelled(json.loads(revision)["workerTemplate"], lws, "1", revision)
            spec = {"replicas": group["size"] - 1, "template": template}
            meta = owned(kinds.PODS, leader, key_of(leader))
            self._api.create(STATEFUL_SETS, {"metadata": meta, "spec": spec}, BY)

    def _is_ready(self, leader: Body, size: int) -> bool:
        workers = pods_owned_by(self._api, self._api.find(STATEFUL_SETS, key_of(leader)))
        running = [pod for pod in (leader, *workers) if _is_live(pod) and pod["status"]["phase"] == "Running"]
        return len(running) == size

    def _report(self, lws: Body, leaders: Body, ready: int) -> None:
        is_available = ready == lws["spec"]["replicas"]
        status = {
            "replicas": leaders.get("status", {}).get("replicas", 0),
            "readyReplicas": ready,
            "conditions": [{"type": "Available", "status": str(is_available)}],
        }
        if lws.get("status") != status:
            version = {"resourceVersion": lws["metadata"]["resourceVersion"]}
            self._api.merge_patch(LWS, key_of(lws), {"metadata": version, "status": status}, BY, True)


class StatefulSetController:
    """Creates and deletes pods of StatefulSets in parallel, and replaces outdated ones one at a time."""

    def __init__(self, api: Api, random: Random) -> None:
        self._api = api
        self._sweeps = Sweeps(api, random, SWEEP_S_MAX)

    async def run(self) -> None:
        while True:
            await self._sweeps.next()
            for body in self._api.all(STATEFUL_SETS):
                if "deletionTimestamp" not in body["metadata"]:
                    with contextlib.suppress(Refused):
                        self._reconcile(body)

    def _reconcile(self, body: Body) -> None:
        owners = body["metadata"]["ownerReferences"]
        first = 1 if owners[0]["kind"] == "Pod" else 0
        names = [f"{key_of(body)}-{first + i}" for i in range(body["spec"]["replicas"])]
        pods = {key_of(pod): pod for pod in pods_owned_by(self._api, body)}
        for name in names:
            if name not in pods and self._api.find(kinds.PODS, name) is None:
                self._create(body, name)
        live = {key: pod for key, pod in pods.items() if _is_live(pod)}
        for key in live.keys() - set(names):
            self._api.delete(kinds.PODS, key, BY_SETS)
        revision = body["spec"]["template"]["metadata"]["annotations"][REVISION]
        outdated = [k for k, pod in live.items() if pod["metadata"]["annotations"][REVISION] != revision]
        if outdated and len(live) >= len(names):
            self._api.delete(kinds.PODS, max(outdated), BY_SETS)
        replicas = len(pods_owned_by(self._api, body))
        if body.get("status", {}).get("replicas", 0) != replicas:
            self._api.merge_patch(
                STATEFUL_SETS, key_of(body), {"status": {"replicas": replicas}}, BY_SETS, True
            )

    def _create(self, body: Body, key: str) -> None:
        template = deepcopy(body["spec"]["template"])
        meta = {**template["metadata"], **owned(STATEFUL_SETS, body, key)}
        pod = {"metadata": meta, "spec": template["spec"], "status": {"phase": "Pending"}}
        self._api.create(kinds.PODS, pod, BY_SETS)


def _labelled(template: Body, lws: Body, worker: str, revision: str) -> Body:
    labelled: Body = deepcopy(template)
    own = labelled.get("metadata", {})
    labels = own.get("labels", {})
    pod_set = labels.get(POD_SET_LABEL, "")
    added = {SET_NAME_LABEL: lws["metadata"]["name"], WORKER_INDEX_LABEL: worker, GROUP_LABEL: pod_set}
    annotations = {**own.get("annotations", {}), REVISION: revision}
    labelled["metadata"] = {**own, "labels": {**labels, **added}, "annotations": annotations}
    return labelled


def surge_of(lws: Body) -> int:
    configuration = lws["spec"].get("rolloutStrategy", {}).get("rollingUpdateConfiguration", {})
    return min(int(configuration.get("maxSurge", 0)), int(lws["spec"]["replicas"]))


def _is_live(pod: Body) -> bool:
    return "deletionTimestamp" not in pod["metadata"]
