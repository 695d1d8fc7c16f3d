"""Derives the resize request, the nodes and the conditions of a ProvisioningRequest. Pure."""

import datetime
import hashlib
from collections.abc import Sequence

from muster.objects.names import QUEUED_PROVISIONING_CLASS, REQUEST_LABEL
from sandbox.cluster.kinds import Object, is_true
from sandbox.cluster.nodes import level_labels, node
from sandbox.stand_ins.capacity import Need, NodeShape

QUEUED_LABEL = "cloud.google.com/gke-queued"
POOL_LABEL = "cloud.google.com/gke-nodepool"
ENDED = ("Failed", "BookingExpired", "CapacityRevoked")

Condition = tuple[str, str, str, str]
"""Type, status, reason, message."""

ACCEPTED: Condition = ("Accepted", "True", "Accepted", "Queued provisioning has accepted the request.")


def resize_request_name(request: Object) -> str:
    """Returns the name of the resize request. It is derived from the UID, so that a restarted process finds
    the nodes."""
    digest = hashlib.sha256(request["metadata"]["uid"].encode()).hexdigest()[:16]
    return f"gke-muster-{digest}"


def node_names(request: Object, needed: Need) -> list[str]:
    """Returns the names of all nodes of the request."""
    digest = resize_request_name(request).rsplit("-", 1)[1][:8]
    return [f"gke-{needed.shape.pool}-{digest}-{i}" for i in range(needed.nodes)]


def open_request(request: Object) -> bool:
    """Returns whether the request has the class of queued provisioning, and has nodes or waits for them."""
    return (
        request["spec"]["provisioningClassName"] == QUEUED_PROVISIONING_CLASS
        and not request["metadata"].get("deletionTimestamp")
        and not any(is_true(request, name) for name in ENDED)
    )


def queued_node(shape: NodeShape, name: str, resize_name: str) -> Object:
    """Returns a node of a queued pool for a request."""
    labels = {**shape.labels, QUEUED_LABEL: "true", REQUEST_LABEL: resize_name}
    labels |= level_labels(name, shape.levels)
    return node(name, labels, shape.taints, shape.capacity)


def merged_conditions(existing: Sequence[Object], new: Sequence[Condition], generation: int) -> list[Object]:
    """Returns the existing conditions updated with the new; transition times change only with the status."""
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    by_type = {c["type"]: c for c in existing}
    for name, status, reason, message in new:
        old = by_type.get(name, {})
        by_type[name] = {
            "type": name,
            "status": status,
            "reason": reason,
            "message": message,
            "observedGeneration": generation,
            "lastTransitionTime": old["lastTransitionTime"] if old.get("status") == status else now,
        }
    return list(by_type.values())
