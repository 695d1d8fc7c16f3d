"""Objects of a case as the controller's typed views, and amounts in the core's units."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from muster import admission as core
from muster.admission.quantities import parse
from muster.objects import kueue, kueue_checks, kueue_queues
from muster.objects.limits import LimitRange
from muster.objects.meta import Object, View
from muster.translation import core_workload, snapshot

T = TypeVar("T", bound=Object)
V = TypeVar("V", bound=View)
Usage = dict[core.FlavorResource, int]
UNLIMITED = 2**63 - 1


def view(data: Any, kind: type[V]) -> V:
    """Decodes it from JSON, in which pod templates are kept; null equals absent, as in Go."""
    return msgspec.json.decode(msgspec.json.encode(_without_nulls(data)), type=kind)


def _without_nulls(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _without_nulls(value) for key, value in data.items() if value is not None}
    return [_without_nulls(item) for item in data] if isinstance(data, list) else data


def views(items: Iterable[Any] | None, kind: type[T]) -> list[T]:
    return [view(item, kind) for item in items or ()]


def by_name(items: Iterable[T]) -> dict[str, T]:
    return {item.metadata.name: item for item in items}


def snapshot_of(
    data: Mapping[str, Any],
    rules: core.Rules,
    queue_names: Iterable[str] = ("clusterQueues",),
    workload: Callable[[kueue.Workload], core.Workload | None] | None = None,
    **more: Any,
) -> core.Snapshot:
    """Builds the case's snapshot as the controller does; `queue_names` are the keys of its queues.

    Each Workload is in the queue of its LocalQueue, unless `workload` converts it.
    """
    local_queues = {
        q.key: q.spec.cluster_queue for q in views(data.get("localQueues"), kueue_queues.LocalQueue)
    }
    limit_ranges = _limit_ranges(data)
    workloads = []
    for obj in views(data.get("workloads"), kueue.Workload):
        queue = local_queues.get(f"{obj.metadata.namespace}/{obj.spec.queue_name}", "")
        ranges = limit_ranges.get(obj.metadata.namespace, ())
        converted = (
            workload(obj) if workload else core_workload.workload(obj, obj.status, queue, rules, ranges)
        )
        if converted is not None:
            workloads.append(converted)
    queues = [queue for name in queue_names for queue in _listed(data.get(name))]
    return snapshot.snapshot(
        views(data.get("resourceFlavors"), kueue_queues.ResourceFlavor),
        views(data.get("cohorts"), kueue_queues.Cohort),
        views(queues, kueue_queues.ClusterQueue),
        workloads,
        checks=by_name(views(data.get("admissionChecks"), kueue_checks.AdmissionCheck)),
        namespaces=_namespaces(data),
        **more,
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _namespaces(data: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {
        obj["metadata"]["name"]: obj["metadata"].get("labels") or {}
        for obj in data.get("objects") or ()
        if obj["kind"] == "Namespace"
    }


def _limit_ranges(data: Mapping[str, Any]) -> dict[str, list[LimitRange]]:
    """Returns LimitRanges by namespace."""
    by_namespace: dict[str, list[LimitRange]] = {}
    for obj in data.get("objects") or ():
        if obj["kind"] == "LimitRange":
            by_namespace.setdefault(obj["metadata"]["namespace"], []).append(view(obj, LimitRange))
    return by_namespace


def usage(frqs: Iterable[Mapping[str, Any]] | None) -> Usage:
    """Returns a case's list of amounts by flavor and resource (`value` is in the core's units)."""
    return {core.FlavorResource(frq["flavor"], frq["resource"]): amount(frq) for frq in frqs or ()}


def amount(frq: Mapping[str, Any]) -> int:
    return int(frq["value"]) if "value" in frq else parse(frq["resource"], frq["quantity"])
