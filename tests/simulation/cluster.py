"""Emulated scheduler and kubelets, garbage collector and cluster autoscaler."""

import asyncio
import contextlib
from random import Random
from typing import Any

from muster.kube import kinds
from muster.objects.meta import FOREGROUND_DELETION, millis, rfc3339
from muster.objects.names import REQUEST_LABEL
from tests.simulation.api import Api, Body, Refused, key_of
from tests.simulation.kuberay_pods import is_gated
from tests.simulation.sweeps import Sweeps

SWEEP_S_MAX, ANSWERS_S_MAX = 0.5, 2.0
LEAVES_S_MAX = 5.0  # until a pod has ended, and between sweeps of the garbage collector

READY_ON_LOST_NODE: Body = {"type": "Ready", "status": "False"}
"""The condition that the node controller sets on pods of a lost node, without a reason; their phase stays
Running (tests/nodes/test_recovery.py)."""


class Kubelets:
    """Starts pods that have a node, ends deleted ones some time later, and then removes them."""

    def __init__(self, api: Api, random: Random, cloud: "Cloud") -> None:
        self._api, self._random, self._cloud = api, random, cloud
        self.halted = False
        self.lost: set[str] = set()  # pods whose kubelet does not respond, by UID
        self.lost_hosts: set[str] = set()  # a pod with one of these in its node affinity finds no room

    async def run(self) -> None:
        sweeps, leaving = Sweeps(self._api, self._random, SWEEP_S_MAX), False
        while True:
            await sweeps.next(busy=leaving)
            leaving = False
            for pod in self._api.all(kinds.PODS) if not self.halted else ():
                key = key_of(pod)
                if "deletionTimestamp" in pod["metadata"]:
                    leaving = True
                    if self._clings(pod) or pod["metadata"]["uid"] in self.lost:
                        continue
                    if self._random.random() < 2 * SWEEP_S_MAX / LEAVES_S_MAX:
                        self._end(pod, key)
                elif pod["status"]["phase"] == "Pending" and not is_gated(pod) and self._has_node_for(pod):
                    self._api.merge_patch(kinds.PODS, key, {"status": {"phase": "Running"}}, "kubelet", True)

    def _end(self, pod: Body, key: str) -> None:
        """Ends the pod's containers, and removes it in a later sweep (Kubernetes 1.27, "Pod lifecycle"): its
        phase is final before, and stays so while finalizers keep it."""
        if pod["status"]["phase"] not in ("Failed", "Succeeded"):
            self._api.merge_patch(kinds.PODS, key, {"status": {"phase": "Failed"}}, "kubelet", True)
        elif not pod["metadata"].get("finalizers"):
            self._api.remove(kinds.PODS, key, "kubelet")

    def _has_node_for(self, pod: Body) -> bool:
        return self._cloud.has_node_for(pod) and self.lost_hosts.isdisjoint(hosts_of(pod))

    def _clings(self, pod: Body) -> bool:
        """Returns whether the pod uses its own grace period, which it then uses completely."""
        own = "terminationGracePeriodSeconds" in pod["spec"]
        return own and millis(pod["metadata"]["deletionTimestamp"]) > self._api.now_ms()


def hosts_of(pod: Body) -> list[str]:
    """Returns the hosts of its node affinity."""
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
    return [value for term in terms for e in term["matchExpressions"] for value in e["values"]]


class GarbageCollector:
    """Sweeps periodically, and deletes one object at a time, in any order."""

    def __init__(self, api: Api, random: Random) -> None:
        self._api, self._random = api, random

    async def run(self) -> None:
        sweeps = Sweeps(self._api, self._random, LEAVES_S_MAX / 2)
        while True:
            await sweeps.next()
            results = list(self._api.orphans())
            self._random.shuffle(results)
            for kind, key in results:
                with contextlib.suppress(Refused):
                    foreground = self._api.is_deleted_in_foreground(kind, key)
                    self._api.delete(kind, key, "garbage collector", foreground=foreground)
                await asyncio.sleep(self._random.uniform(0, SWEEP_S_MAX))
            for kind, key in list(self._api.abandoned()):
                body = self._api.get(kind, key)
                finalizers_left = [f for f in body["metadata"]["finalizers"] if f != FOREGROUND_DELETION]
                patch = {"metadata": {"finalizers": finalizers_left}}
                self._api.merge_patch(kind, key, patch, "garbage collector", False)


class Cloud:
    """Queued provisioning with `nodes_max` nodes: Accepted, then all nodes of a request together, or none.

    `stock_outs` requests fail; the others wait until there is capacity. A request without its pod templates
    is skipped without a status, as by cluster-autoscaler, and so are all while not `answering`. Nodes of a
    request are removed once it and its pods are deleted."""

    def __init__(self, api: Api, random: Random, nodes_max: int) -> None:
        self._api, self._random = api, random
        self.nodes_max = nodes_max
        self.stock_outs = 0
        self.answering = True
        self.nodes: dict[str, int] = {}  # by the name of the resize request

    async def run(self) -> None:
        sweeps = Sweeps(self._api, self._random, ANSWERS_S_MAX)
        while True:
            await sweeps.next()
            self._scale_down()
            for request in self._api.all(kinds.PROVISIONING_REQUESTS):
                with contextlib.suppress(Refused):
                    self._answer(request)

    def has_node_for(self, pod: Body) -> bool:
        """Returns whether the pod fits a node. True for a pod that selects no request's nodes."""
        request_name = pod["spec"].get("nodeSelector", {}).get(REQUEST_LABEL)
        if request_name is None:
            return True
        return self._pods_on(request_name) < self.nodes.get(request_name, 0)

    def say(self, request: Body, kind: str, message: str, **status: Any) -> None:
        now = rfc3339(self._api.now_ms())
        condition = {
            "type": kind,
            "status": "True",
            "reason": kind,
            "message": message,
            "lastTransitionTime": now,
        }
        conditions = [*request.get("status", {}).get("conditions", []), condition]
        patch = {"status": {"conditions": conditions, **status}}
        self._api.merge_patch(kinds.PROVISIONING_REQUESTS, key_of(request), patch, "cloud", True)

    def _answer(self, request: Body) -> None:
        reported = {c["type"] for c in request.get("status", {}).get("conditions", [])}
        if not self.answering or not self._has_templates(request):
            return
        if not reported:
            self.say(request, "Accepted", "Provisioning Request was successfully queued.")
        elif reported != {"Accepted"}:
            return
        elif self.stock_outs > 0:
            self.stock_outs -= 1
            self.say(request, "Failed", "out of stock: nvidia-l4 in us-west1-b")
        else:
            self._provision(request)

    def _provision(self, request: Body) -> None:
        asked = sum(s["count"] for s in request["spec"]["podSets"])
        if sum(self.nodes.values()) + asked > self.nodes_max:
            return
        name = f"resize-{request['metadata']['uid']}"
        self.nodes[name] = asked
        details = {"ResizeRequestName": name}
        self.say(request, "Provisioned", "Provisioned successfully.", provisioningClassDetails=details)

    def _has_templates(self, request: Body) -> bool:
        namespace = request["metadata"]["namespace"]
        names = [s["podTemplateRef"]["name"] for s in request["spec"]["podSets"]]
        return all(self._api.find(kinds.POD_TEMPLATES, f"{namespace}/{n}") for n in names)

    def _scale_down(self) -> None:
        held = {f"resize-{r['metadata']['uid']}" for r in self._api.all(kinds.PROVISIONING_REQUESTS)}
        for name in [n for n in self.nodes if n not in held and self._pods_on(n) == 0]:
            del self.nodes[name]

    def _pods_on(self, nodes: str) -> int:
        return sum(
            p["status"]["phase"] == "Running"
            and p["spec"].get("nodeSelector", {}).get(REQUEST_LABEL) == nodes
            for p in self._api.all(kinds.PODS)
        )
