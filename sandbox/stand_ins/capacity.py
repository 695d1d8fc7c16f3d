"""Computes the pool and the number of nodes for a request, for the queued-provisioning stand-in. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from lightkube.utils.quantity import parse_quantity

from muster.admission import quantities
from muster.objects import pods
from muster.objects.names import REQUEST_LABEL

ACCELERATORS = ("nvidia.com/gpu", "google.com/tpu")


@dataclass(frozen=True)
class NodeShape:
    """The nodes of a queued pool: labels, taints, capacity of a node, and their maximum number. `levels` are
    the labels of topology levels above the nodes, the largest first."""

    pool: str
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]]
    capacity: Mapping[str, str]
    nodes_max: int
    levels: Sequence[str] = ()


@dataclass(frozen=True)
class PodSet:
    """A number of pods with the same template, which is the PodTemplate's `template` (metadata and spec)."""

    template: Mapping[str, Any]
    count: int


class CannotServeError(Exception):
    """The request can never be served; the message contains the cause and what to change."""


@dataclass(frozen=True)
class Need:
    """The pool that serves a request, and the number of nodes for its whole gang."""

    shape: NodeShape
    nodes: int


def need(pod_sets: Sequence[PodSet], shapes: Sequence[NodeShape]) -> Need:
    """Returns the pool and the number of nodes for all pods of a request.

    Raises CannotServeError by the rules of GKE's queued provisioning: one pod set per request, with
    accelerators, that fits a queued pool.
    """
    if len(pod_sets) != 1:
        raise CannotServeError(
            f"queued provisioning supports one pod set per request, but this request has "
            f"{len(pod_sets)}; set the "
            "ProvisioningRequestConfig's podSetMergePolicy to IdenticalWorkloadSchedulingRequirements, "
            "or use one worker group"
        )
    spec, count = pod_sets[0].template["spec"], pod_sets[0].count
    requests = pod_requests(spec)
    if not any(requests.get(name) for name in ACCELERATORS):
        raise CannotServeError(
            "queued provisioning serves only accelerators, but these pods request none of "
            f"{', '.join(ACCELERATORS)}; give CPU pods a flavor without this admission check"
        )
    matching = [s for s in shapes if _selects(spec, s) and _tolerates(spec, s)]
    for shape in matching:
        per_node = _pods_per_node(requests, shape)
        if per_node:
            return Need(shape, -(-count // per_node))
    raise CannotServeError(_why_none(requests, spec, matching, shapes))


def pod_requests(spec: Mapping[str, Any]) -> dict[str, Decimal]:
    """Returns the requests of a pod, as the controller and the scheduler count them."""
    counted = pods.pod_requests(pods.encode_template({"spec": spec}))
    return {name: quantity(quantities.format(name, units)) for name, units in counted.items()}


def quantity(value: object) -> Decimal:
    """Parses a Kubernetes quantity."""
    return parse_quantity(str(value)) or Decimal(0)


def _pods_per_node(requests: Mapping[str, Decimal], shape: NodeShape) -> int:
    """Returns how many equal pods fit on an empty node."""
    capacity = {name: quantity(value) for name, value in shape.capacity.items()}
    fits = [int(capacity.get(name, Decimal(0)) // value) for name, value in requests.items() if value]
    return min([*fits, int(capacity.get("pods", Decimal(110)))])


def _selects(spec: Mapping[str, Any], shape: NodeShape) -> bool:
    selector = spec.get("nodeSelector") or {}
    # The label of the nodes of an earlier attempt does not select a pool.
    return all(shape.labels.get(k) == v for k, v in selector.items() if k != REQUEST_LABEL)


def _tolerates(spec: Mapping[str, Any], shape: NodeShape) -> bool:
    tolerations = spec.get("tolerations") or []
    hard = [t for t in shape.taints if t["effect"] != "PreferNoSchedule"]
    return all(any(_matches(t, taint) for t in tolerations) for taint in hard)


def _matches(toleration: Mapping[str, str], taint: Mapping[str, str]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key", "") in ("", taint["key"])
    return toleration.get("key") == taint["key"] and toleration.get("value", "") == taint.get("value", "")


def _why_none(
    requests: Mapping[str, Decimal],
    spec: Mapping[str, Any],
    matching: Sequence[NodeShape],
    shapes: Sequence[NodeShape],
) -> str:
    pools = ", ".join(s.pool for s in matching or shapes) or "none"
    if matching:
        amounts = ", ".join(f"{name}={value.normalize():f}" for name, value in sorted(requests.items()))
        return f"one pod ({amounts}) is larger than a node of the matching queued pools ({pools})"
    return (
        f"no queued pool has the labels {spec.get('nodeSelector') or {}} with taints that the pods tolerate; "
        f"queued pools: {pools}"
    )
