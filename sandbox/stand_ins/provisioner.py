"""Stand-in for GKE's queued provisioning: serves ProvisioningRequests of class queued-provisioning.gke.io.

Run as `python -m sandbox.stand_ins.provisioner --kubeconfig FILE --stack-file FILE`.

A request is Accepted, waits until its zone has capacity for all of its nodes, then gets all of them at once,
and is Provisioned with its ResizeRequestName when every node is Ready. Its nodes are deleted when the request
is deleted or has ended and no pods are left on them. All state is in the API objects (node names derive from
the request's UID), so the process may be killed and restarted at any point.

The zone's capacity, and faults for tests, come from a ConfigMap: see `sandbox/stand_ins/zone.py`.

Not simulated: BookingExpired after ten minutes without pods, maxRunDurationSeconds, quota of resize requests
per region, pod affinity and topology spread, DaemonSets' share of a node, several zones.
"""

from __future__ import annotations

import argparse
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2
from lightkube import Client
from lightkube.core.exceptions import ApiError
from lightkube.types import PatchType

from sandbox.cluster import kinds
from sandbox.cluster.kinds import Object, is_true
from sandbox.stand_ins.capacity import PROVISIONING_LABEL, CannotServeError, Need, PodSet, Shape, need
from sandbox.stand_ins.reflector import Reflector
from sandbox.stand_ins.resize import (
    ACCEPTED,
    POOL_LABEL,
    Condition,
    merged_conditions,
    node_names,
    open_request,
    queued_node,
    resize_request_name,
)
from sandbox.stand_ins.zone import CONFIG_MAP, Zone
from settings import load as settings

RESYNC_SECONDS = 1.0  # within which a change of the zone's ConfigMap, which is not watched, takes effect
PASS_SECONDS_MIN = 0.1
PODS_LOOK_SECONDS = 0.3

log = logging.getLogger("provisioner")


class Provisioner:
    """Reconciles nodes and statuses with the requests on every change."""

    def __init__(
        self, client: Client, shapes: Sequence[Shape], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client, self._shapes, self._clock = client, shapes, clock
        # When the creation of a request's nodes began, by UID; lost on restart.
        self._making_since: dict[str, float] = {}
        self._look_again_seconds = RESYNC_SECONDS
        self._dirty = threading.Event()
        self._requests = Reflector(client, kinds.ProvisioningRequest, self._changed)
        # Only for wake-ups: decisions list the nodes, as a cache may lag behind our own writes.
        self._nodes = Reflector(client, kinds.Node, self._changed)

    def _changed(self, _kind: str, _obj: Object, _gone: bool) -> None:
        self._dirty.set()

    def run(self) -> None:
        """Reconciles until the process ends."""
        self._requests.start()
        self._nodes.start()
        while not self._requests.wait_listed(timeout_seconds=10):
            log.info("waiting for the API server to serve ProvisioningRequests")
        log.info("serving queued pools: %s", ", ".join(s.pool for s in self._shapes) or "none")
        while True:
            self._dirty.wait(self._look_again_seconds)
            self._dirty.clear()
            self._look_again_seconds = RESYNC_SECONDS
            try:
                self.reconcile(self._requests.objects())
            except (ApiError, httpx2.HTTPError) as error:
                log.warning("pass failed, retrying: %s", error)
            time.sleep(PASS_SECONDS_MIN)

    def reconcile(self, found: Iterable[Object]) -> None:
        """One pass over all ProvisioningRequests, oldest first."""
        requests = [r for r in found if open_request(r)]
        requests.sort(key=lambda r: (r["metadata"]["creationTimestamp"], kinds.key(r)))
        open_uids = {r["metadata"]["uid"] for r in requests}
        self._making_since = {u: at for u, at in self._making_since.items() if u in open_uids}
        zone = self._zone()
        nodes = {n["metadata"]["name"]: n for n in self._client.list(kinds.Node)}
        self._remove_nodes_of_ended(nodes, {resize_request_name(r) for r in requests})
        held = Counter(n["metadata"].get("labels", {}).get(POOL_LABEL) for n in nodes.values())
        for request in requests:
            wanted = self._need(request)
            if wanted is None:
                continue
            room = zone.nodes_max(wanted.shape) - held[wanted.shape.pool]
            held[wanted.shape.pool] += self._serve(request, wanted, nodes, room, zone)

    def _need(self, request: Object) -> Need | None:
        """Returns what the request needs; None if it cannot be served, or not yet."""
        try:
            return need(self._pod_sets(request), self._shapes)
        except CannotServeError as reason:
            self._set(request, [("Failed", "True", "CannotBeServed", str(reason))])
        except ApiError as error:
            if error.status.code != 404:
                raise
            log.warning("%s: its PodTemplate does not exist: %s", "/".join(kinds.key(request)), error)
        return None

    def _serve(
        self, request: Object, wanted: Need, nodes: Mapping[str, Object], room: int, zone: Zone
    ) -> int:
        """Advances one request as far as possible; returns how many additional nodes it takes."""
        mine = node_names(request, wanted)
        missing = [name for name in mine if name not in nodes]
        # If some nodes exist, the process died while creating them: continue, as half a gang is useless.
        if len(missing) == wanted.nodes:
            if room < wanted.nodes:
                self._out_of_capacity(request, wanted, max(room, 0), zone.fails_when_out(wanted.shape))
                return 0
            if not self._made(request, zone.making_seconds(wanted.shape)):
                self._report(request, wanted, 0)
                return wanted.nodes
        for name in missing:
            self._client.create(kinds.Node(queued_node(wanted.shape, name, resize_request_name(request))))
        if missing:
            log.info(
                "%s: created %d nodes of %s", "/".join(kinds.key(request)), len(missing), wanted.shape.pool
            )
        if not is_true(request, "Provisioned"):
            self._report(request, wanted, sum(1 for name in mine if is_true(nodes.get(name, {}), "Ready")))
        return len(missing)

    def _report(self, request: Object, wanted: Need, up: int) -> None:
        pool = wanted.shape.pool
        if up == wanted.nodes:
            details = {"ResizeRequestName": resize_request_name(request), "NodeGroupName": pool}
            message = f"All {up} nodes of pool {pool} are ready."
            self._set(request, [ACCEPTED, ("Provisioned", "True", "Provisioned", message)], details)
        else:
            message = f"Creating {wanted.nodes} nodes of pool {pool}."
            self._set(request, [ACCEPTED, ("Provisioned", "False", "Provisioning", message)])

    def _made(self, request: Object, seconds: float) -> bool:
        """Whether the zone's time for creating nodes has passed."""
        now = self._clock()
        left = self._making_since.setdefault(request["metadata"]["uid"], now) + seconds - now
        if left > 0:
            self._look_again_within(left)
        return left <= 0

    def _out_of_capacity(self, request: Object, wanted: Need, room: int, fails: bool) -> None:
        pool = wanted.shape.pool
        message = f"the zone has {room} more nodes for pool {pool}, the request needs {wanted.nodes} at once"
        if fails:
            self._set(request, [ACCEPTED, ("Failed", "True", "OutOfCapacity", message)])
        else:
            waiting = f"{message}; waiting until it has them all"
            self._set(request, [ACCEPTED, ("Provisioned", "False", "OutOfCapacity", waiting)])

    def _zone(self) -> Zone:
        namespace, name = CONFIG_MAP
        try:
            return Zone(self._client.get(kinds.ConfigMap, name, namespace=namespace).get("data") or {})
        except ApiError as error:
            if error.status.code == 404:
                return Zone()
            raise

    def _pod_sets(self, request: Object) -> list[PodSet]:
        namespace, _ = kinds.key(request)
        return [
            PodSet(
                self._client.get(kinds.PodTemplate, ref["podTemplateRef"]["name"], namespace=namespace)[
                    "template"
                ],
                ref["count"],
            )
            for ref in request["spec"]["podSets"]
        ]

    def _remove_nodes_of_ended(self, nodes: dict[str, Object], open_names: set[str]) -> None:
        """Deletes nodes whose request has ended, once no pods are left on them; drops them from `nodes`."""
        for name, found in list(nodes.items()):
            resize_name = found["metadata"].get("labels", {}).get(PROVISIONING_LABEL)
            if not resize_name or resize_name in open_names:
                continue
            if any(self._client.list(kinds.Pod, namespace="*", fields={"spec.nodeName": name})):
                # Pods are not watched: there are many, and only this check needs them.
                self._look_again_within(PODS_LOOK_SECONDS)
                continue
            self._client.delete(kinds.Node, name)
            log.info("deleted node %s: its request has ended", name)
            del nodes[name]

    def _look_again_within(self, seconds: float) -> None:
        self._look_again_seconds = min(self._look_again_seconds, seconds)

    def _set(
        self, request: Object, wanted: Sequence[Condition], details: Mapping[str, str] | None = None
    ) -> None:
        """Writes conditions and details if they changed."""
        status = request.get("status") or {}
        conditions = merged_conditions(
            status.get("conditions") or [], wanted, request["metadata"].get("generation", 1)
        )
        if conditions == status.get("conditions") and (
            not details or details == status.get("provisioningClassDetails")
        ):
            return
        namespace, name = kinds.key(request)
        patch: dict[str, Any] = {
            # For this version only: a status decided on outdated data is decided again.
            "metadata": {"resourceVersion": request["metadata"]["resourceVersion"]},
            "status": {"conditions": conditions} | ({"provisioningClassDetails": details} if details else {}),
        }
        try:
            self._client.patch(
                kinds.ProvisioningRequest.Status, name, patch, namespace=namespace, patch_type=PatchType.MERGE
            )
        except ApiError as error:
            if error.status.code not in (404, 409):
                raise
        log.info("%s/%s: %s", namespace, name, "; ".join(f"{c[0]}={c[1]} {c[3]}" for c in wanted[-1:]))


def shapes_of(stack_file: Path) -> list[Shape]:
    """Returns the shapes of the queued pools of a stack file."""
    return [
        Shape(
            pool.name,
            dict(pool.node_labels),
            tuple({"key": t.key, "value": t.value, "effect": t.effect} for t in pool.node_taints),
            dict(pool.capacity),
            pool.nodes_max,
            pool.topology,
        )
        for pool in settings.load(stack_file).pools
        if pool.queued
    ]


def main() -> None:
    """Runs the stand-in until it is killed."""
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.stand_ins.provisioner", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--kubeconfig", type=Path, required=True, help="the cluster to serve")
    parser.add_argument(
        "--stack-file", type=Path, required=True, help="stacks/Pulumi.<stack>.yaml naming the pools"
    )
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    Provisioner(kinds.connect(arguments.kubeconfig), shapes_of(arguments.stack_file)).run()


if __name__ == "__main__":
    main()
