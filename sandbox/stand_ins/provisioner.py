"""Stand-in for GKE's queued provisioning: serves ProvisioningRequests of class queued-provisioning.gke.io.

Run as `python -m sandbox.stand_ins.provisioner --kubeconfig FILE --stack-file FILE`.

A request is Accepted, waits until its zone has capacity for all of its nodes, then gets all nodes at the same
time, and is Provisioned with its ResizeRequestName when all nodes are Ready. The nodes are deleted once the
request was deleted or has ended and no pods run on them. All state is in the API objects (node names are
derived from the request's UID), so the process may be killed and restarted at any point.

The zone's capacity, and faults for tests, come from a ConfigMap: see `sandbox/stand_ins/zone.py`.

Not simulated: BookingExpired after ten minutes without pods, maxRunDurationSeconds, the quota of resize
requests per region, pod affinity and topology spread, the share of DaemonSets in a node, several zones.
"""

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

from muster.objects.names import REQUEST_LABEL
from sandbox.cluster import kinds
from sandbox.cluster.kinds import Object, is_true
from sandbox.stand_ins.capacity import CannotServeError, Need, NodeShape, PodSet, need
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

RESYNC_SECONDS = 1.0  # maximum delay of a change of the zone's ConfigMap, which is not watched
PASS_SECONDS_MIN = 0.1
PODS_LOOK_SECONDS = 0.3

log = logging.getLogger("provisioner")


class Provisioner:
    """Reconciles nodes and request statuses on every change."""

    def __init__(
        self, client: Client, shapes: Sequence[NodeShape], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client, self._shapes, self._clock = client, shapes, clock
        # The start of the creation of a request's nodes, by UID; lost on a restart.
        self._creating_since: dict[str, float] = {}
        self._resync_seconds = RESYNC_SECONDS
        self._dirty = threading.Event()
        self._requests = Reflector(client, kinds.ProvisioningRequest, self._changed)
        # Only triggers passes, which list the nodes, as this cache may lag behind the stand-in's own writes.
        self._nodes = Reflector(client, kinds.Node, self._changed)

    def _changed(self, _kind: str, _obj: Object, _deleted: bool) -> None:
        self._dirty.set()

    def run(self) -> None:
        """Reconciles until the process ends."""
        self._requests.start()
        self._nodes.start()
        while not self._requests.wait_listed(timeout_seconds=10):
            log.info("waiting for the API server to serve ProvisioningRequests")
        log.info("serving queued pools: %s", ", ".join(s.pool for s in self._shapes) or "none")
        while True:
            self._dirty.wait(self._resync_seconds)
            self._dirty.clear()
            self._resync_seconds = RESYNC_SECONDS
            try:
                self.reconcile(self._requests.objects())
            except (ApiError, httpx2.HTTPError) as error:
                log.warning("pass failed, retrying: %s", error)
            time.sleep(PASS_SECONDS_MIN)

    def reconcile(self, existing: Iterable[Object]) -> None:
        """Makes a pass over all ProvisioningRequests, the oldest first."""
        requests = [r for r in existing if open_request(r)]
        requests.sort(key=lambda r: (r["metadata"]["creationTimestamp"], kinds.key(r)))
        open_uids = {r["metadata"]["uid"] for r in requests}
        self._creating_since = {u: at for u, at in self._creating_since.items() if u in open_uids}
        zone = self._zone()
        nodes = {n["metadata"]["name"]: n for n in self._client.list(kinds.Node)}
        self._remove_nodes_of_ended(nodes, {resize_request_name(r) for r in requests})
        used = Counter(n["metadata"].get("labels", {}).get(POOL_LABEL) for n in nodes.values())
        for request in requests:
            needed = self._need(request)
            if needed is None:
                continue
            headroom = zone.nodes_max(needed.shape) - used[needed.shape.pool]
            used[needed.shape.pool] += self._serve(request, needed, nodes, headroom, zone)

    def _need(self, request: Object) -> Need | None:
        """Returns what the request needs; None if it can't be served, or not yet."""
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
        self, request: Object, needed: Need, nodes: Mapping[str, Object], headroom: int, zone: Zone
    ) -> int:
        """Advances a request as far as possible; returns how many additional nodes it takes."""
        names = node_names(request, needed)
        missing = [name for name in names if name not in nodes]
        # If some nodes exist, the process died while creating them: continue, as half a gang is useless.
        if len(missing) == needed.nodes:
            if headroom < needed.nodes:
                self._out_of_capacity(request, needed, max(headroom, 0), zone.fails_when_out(needed.shape))
                return 0
            if not self._is_created(request, zone.creation_seconds(needed.shape)):
                self._report(request, needed, 0)
                return needed.nodes
        for name in missing:
            self._client.create(kinds.Node(queued_node(needed.shape, name, resize_request_name(request))))
        if missing:
            log.info(
                "%s: created %d nodes of %s", "/".join(kinds.key(request)), len(missing), needed.shape.pool
            )
        if not is_true(request, "Provisioned"):
            self._report(request, needed, sum(1 for name in names if is_true(nodes.get(name, {}), "Ready")))
        return len(missing)

    def _report(self, request: Object, needed: Need, ready: int) -> None:
        pool = needed.shape.pool
        if ready == needed.nodes:
            details = {"ResizeRequestName": resize_request_name(request), "NodeGroupName": pool}
            message = f"All {ready} nodes of pool {pool} are ready."
            self._set(request, [ACCEPTED, ("Provisioned", "True", "Provisioned", message)], details)
        else:
            message = f"Creating {needed.nodes} nodes of pool {pool}."
            self._set(request, [ACCEPTED, ("Provisioned", "False", "Provisioning", message)])

    def _is_created(self, request: Object, seconds: float) -> bool:
        """Returns whether the zone's time for creating nodes has passed."""
        now = self._clock()
        remaining = self._creating_since.setdefault(request["metadata"]["uid"], now) + seconds - now
        if remaining > 0:
            self._resync_within(remaining)
        return remaining <= 0

    def _out_of_capacity(self, request: Object, needed: Need, headroom: int, fails: bool) -> None:
        pool = needed.shape.pool
        message = f"the zone has {headroom} more nodes for pool {pool}, but the request needs {needed.nodes}"
        if fails:
            self._set(request, [ACCEPTED, ("Failed", "True", "OutOfCapacity", message)])
        else:
            waiting = f"{message}; waiting for capacity"
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
        """Deletes nodes without pods whose request has ended; also removes them from `nodes`."""
        for name, node in list(nodes.items()):
            resize_name = node["metadata"].get("labels", {}).get(REQUEST_LABEL)
            if not resize_name or resize_name in open_names:
                continue
            if any(self._client.list(kinds.Pod, namespace="*", fields={"spec.nodeName": name})):
                # Pods are not watched: there are many, and only this check needs them.
                self._resync_within(PODS_LOOK_SECONDS)
                continue
            self._client.delete(kinds.Node, name)
            log.info("deleted node %s: its request has ended", name)
            del nodes[name]

    def _resync_within(self, seconds: float) -> None:
        self._resync_seconds = min(self._resync_seconds, seconds)

    def _set(
        self, request: Object, changed: Sequence[Condition], details: Mapping[str, str] | None = None
    ) -> None:
        """Writes conditions and details if they differ from the status."""
        status = request.get("status") or {}
        conditions = merged_conditions(
            status.get("conditions") or [], changed, request["metadata"].get("generation", 1)
        )
        if conditions == status.get("conditions") and (
            not details or details == status.get("provisioningClassDetails")
        ):
            return
        namespace, name = kinds.key(request)
        patch: dict[str, Any] = {
            # Refused if the request has changed: the next pass computes the status again.
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
        log.info("%s/%s: %s", namespace, name, "; ".join(f"{c[0]}={c[1]} {c[3]}" for c in changed[-1:]))


def shapes_of(stack_file: Path) -> list[NodeShape]:
    """Returns the shapes of the queued pools of a stack file."""
    return [
        NodeShape(
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
        "--stack-file", type=Path, required=True, help="stacks/Pulumi.<stack>.yaml with the pools"
    )
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    Provisioner(kinds.connect(arguments.kubeconfig), shapes_of(arguments.stack_file)).run()


if __name__ == "__main__":
    main()
