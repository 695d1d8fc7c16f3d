"""Converts recorded values to the form of cases: times, objects, admissions, and a cycle's changes."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

Data = Mapping[str, Any]
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""The time of every case: the recorded times are shifted to it."""
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
DROPPED = frozenset({"kind", "apiVersion", "resourceVersion", "nodeInfo"})


def cleaned(value: Any) -> Any:
    """Drops what objects in Go's memory have and objects of users have not: nulls, empty statuses, kinds."""
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if not isinstance(value, dict):
        return value
    of_object = isinstance(value.get("metadata"), dict)
    fields = {key: cleaned(item) for key, item in value.items() if item is not None}
    return {
        key: item
        for key, item in fields.items()
        if not (of_object and key in DROPPED)
        and key != "resourceVersion"
        and not (key == "status" and item == {})
    }


def shifted(value: Any, now: str | None) -> Any:
    """Moves all timestamps by the difference between `now` and NOW."""
    if now is None:
        return value
    shift = NOW - datetime.fromisoformat(now)
    return _with_texts(value, lambda text: _moved(text, shift) if TIMESTAMP.fullmatch(text) else text)


def _with_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_with_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {key: _with_texts(item, change) for key, item in value.items()}
    return value


def _moved(text: str, shift: timedelta) -> str:
    moment = (datetime.fromisoformat(text) + shift).astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def present(items: Iterable[Any] | None) -> list[Any]:
    """Returns the items that are not null: Go's tables have nil pointers."""
    return [item for item in items or () if item is not None]


def by_name(items: Mapping[str, Any] | Iterable[Any] | None) -> list[Any]:
    """Returns the values of a map by name, or a list as it is."""
    if isinstance(items, Mapping):
        return [items[name] for name in sorted(items)]
    return present(items)


def key_of(workload: Data) -> str:
    metadata = workload["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def quantity(resource: str, value: int) -> str:
    """Returns Kubernetes' text of an amount in Kueue's units: thousandths of CPUs, else whole units."""
    return f"{value}m" if resource == "cpu" else str(value)


def quantities(values: Mapping[str, int] | None) -> dict[str, str]:
    return {resource: quantity(resource, value) for resource, value in (values or {}).items()}


def admission(recorded: Data) -> dict[str, Any]:
    """Returns an Admission in neutral form."""
    return {
        "clusterQueue": recorded["clusterQueue"],
        "podSets": [_pod_set(item) for item in recorded.get("podSetAssignments") or ()],
    }


def _pod_set(recorded: Data) -> dict[str, Any]:
    form = {"name": recorded["name"], "count": recorded.get("count")}
    form["flavors"] = recorded.get("flavors") or {}
    form["resourceUsage"] = recorded.get("resourceUsage") or {}
    if recorded.get("topologyAssignment"):
        form["topologyAssignment"] = expanded(recorded["topologyAssignment"])
    if recorded.get("delayedTopologyRequest"):
        form["delayedTopologyRequest"] = recorded["delayedTopologyRequest"]
    return form


def expanded(assignment: Data) -> dict[str, Any]:
    """Returns a compressed TopologyAssignment of v1beta2 as domains with their counts."""
    domains = [domain for part in assignment.get("slices") or () for domain in _domains(part)]
    return {"levels": assignment["levels"], "domains": domains}


def _domains(part: Data) -> Iterator[dict[str, Any]]:
    for index in range(part["domainCount"]):
        values = [_value(level, index) for level in part["valuesPerLevel"]]
        counts = part["podCounts"]
        count = counts["universal"] if counts.get("universal") is not None else counts["individual"][index]
        yield {"values": values, "count": count}


def _value(level: Data, index: int) -> str:
    if level.get("universal") is not None:
        return str(level["universal"])
    individual = level["individual"]
    return f"{individual.get('prefix') or ''}{individual['roots'][index]}{individual.get('suffix') or ''}"


def condition(workload: Data, kind: str) -> Data:
    """Returns the workload's condition of this type, or an empty one."""
    conditions = (workload.get("status") or {}).get("conditions") or ()
    return next((item for item in conditions if item["type"] == kind), {})


def is_true(workload: Data, kind: str) -> bool:
    return condition(workload, kind).get("status") == "True"


def summary(before: Iterable[Data] | None, after: Iterable[Data] | None) -> dict[str, Any]:
    """Returns the workloads that got quota, were preempted, were evicted, or got a reason to wait."""
    old = {key_of(workload): workload for workload in before or ()}
    reserved, waiting = {}, {}
    turned: dict[str, list[dict[str, str]]] = {"Preempted": [], "Evicted": []}
    for workload in after or ():
        key = key_of(workload)
        previous = old.get(key, {})
        if is_true(workload, "QuotaReserved") and not is_true(previous, "QuotaReserved"):
            form = admission(workload["status"]["admission"])
            reserved[key] = {**form, "admitted": is_true(workload, "Admitted")}
        for kind, changes in turned.items():
            if is_true(workload, kind) and not is_true(previous, kind):
                changes.append({"workload": key, **_why(condition(workload, kind))})
        refusal = condition(workload, "QuotaReserved")
        if refusal.get("status") == "False" and refusal != condition(previous, "QuotaReserved"):
            waiting[key] = _why(refusal)
    return {
        "newlyQuotaReserved": reserved,
        "preempted": turned["Preempted"],
        "evicted": turned["Evicted"],
        "quotaReservedFalse": waiting,
    }


def _why(of: Data) -> dict[str, str]:
    return {"reason": of["reason"], "message": of["message"]}


def event(recorded: Data) -> dict[str, str]:
    key = recorded["key"]
    return {
        "object": f"{key['namespace']}/{key['name']}",
        "type": recorded["eventType"],
        "reason": recorded["reason"],
        "message": recorded["message"],
    }
