"""Rows of `status`: one object or process each, as text. Pure except for processes and their logs."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sandbox.cluster.processes import exit_text
from sandbox.cluster.records import Exit, ProcessRecord
from sandbox.cluster.supervisor import last_line
from sandbox.scenarios.observations import seconds
from tools.toolchain.console import duration

Object = Mapping[str, Any]

_STATES = ("Finished", "Evicted", "Admitted", "QuotaReserved")
"""Conditions of a Workload, the most informative first (Kueue's v1beta2 API)."""
POD_GROUP_ANNOTATION = "pod-group-name"
UNLIMITED = -1


def queue_row(queue: Object) -> tuple[str, ...]:
    """Returns name, cohort, pending, admitted, usage as `flavor/resource used/nominal`."""
    spec, status = queue["spec"], queue.get("status", {})
    used = {
        (flavor["name"], resource["name"]): resource.get("total", "0")
        for flavor in status.get("flavorsUsage", ())
        for resource in flavor.get("resources", ())
    }
    usage = [
        f"{flavor['name']}/{resource['name']} "
        f"{used.get((flavor['name'], resource['name']), '0')}/{resource['nominalQuota']}"
        for group in spec.get("resourceGroups", ())
        for flavor in group["flavors"]
        for resource in flavor["resources"]
    ]
    pending, admitted = status.get("pendingWorkloads", 0), status.get("admittedWorkloads", 0)
    return (
        queue["metadata"]["name"],
        spec.get("cohortName", "-"),
        str(pending),
        str(admitted),
        "\n".join(usage),
    )


def workload_row(workload: Object, now: float) -> tuple[str, ...]:
    """Returns namespace, job, name, queue, priority, age, and the values of `workload_state`."""
    spec, metadata = workload["spec"], workload["metadata"]
    queue, priority = spec.get("queueName", "-"), str(spec.get("priority", 0))
    about = metadata["namespace"], owner(workload), metadata["name"], queue, priority, age(workload, now)
    return (*about, *workload_state(workload))


def workload_state(workload: Object) -> tuple[str, str, str]:
    """Returns the most informative true condition, its reason and message; Pending if none is true."""
    conditions = {c["type"]: c for c in workload.get("status", {}).get("conditions", ())}
    for name in _STATES:
        if (condition := conditions.get(name)) is not None and condition["status"] == "True":
            return name, condition.get("reason", ""), condition.get("message", "")
    waiting = conditions.get("QuotaReserved", {})
    return "Pending", waiting.get("reason", ""), waiting.get("message", "")


def kai_queue_row(queue: Object) -> tuple[str, ...]:
    """Returns name, parent, GPU quota and GPU limit of a KAI queue."""
    gpu = queue["spec"].get("resources", {}).get("gpu", {})
    limits = [gpu.get(bound, 0) for bound in ("quota", "limit")]
    shown = ["unlimited" if value == UNLIMITED else f"{value:g}" for value in limits]
    return queue["metadata"]["name"], queue["spec"].get("parentQueue", "") or "-", *shown


def pod_group_row(group: Object, pods: Iterable[Object], now: float) -> tuple[str, ...]:
    """Returns namespace, job, name, queue, priority class, age, pods on nodes/needed, reason, message."""
    spec, metadata = group["spec"], group["metadata"]
    bound = [
        pod
        for pod in pods
        if pod["metadata"]["namespace"] == metadata["namespace"]
        and pod["metadata"].get("annotations", {}).get(POD_GROUP_ANNOTATION) == metadata["name"]
        and pod["spec"].get("nodeName")
    ]
    conditions = [*group.get("status", {}).get("schedulingConditions", ()), {}]
    return (
        metadata["namespace"],
        owner(group),
        metadata["name"],
        spec.get("queue", "-"),
        spec.get("priorityClassName", "-"),
        age(group, now),
        f"{len(bound)}/{spec.get('minMember', '?')}",
        "" if bound else conditions[0].get("reason", ""),
        "" if bound else conditions[0].get("message", ""),
    )


def owner(obj: Object) -> str:
    """Returns kind and name of the object's owner."""
    references = obj["metadata"].get("ownerReferences") or []
    return next((f"{r['kind']}/{r['name']}" for r in references), "-")


def age(obj: Object, now: float) -> str:
    """Returns the time since the object's creation; `now` is in seconds since the epoch."""
    return duration(now - seconds(obj["metadata"]["creationTimestamp"]))


def node_row(node: Object, now: float) -> tuple[str, ...]:
    """Returns name, pool, age, ready, and the capacity of resources that jobs request."""
    conditions = {c["type"]: c["status"] for c in node.get("status", {}).get("conditions", ())}
    capacity = node.get("status", {}).get("capacity", {})
    shown = [f"{capacity[name]} {name}" for name in ("cpu", "memory", "nvidia.com/gpu") if name in capacity]
    pool = node["metadata"].get("labels", {}).get("cloud.google.com/gke-nodepool", "-")
    ready = conditions.get("Ready", "Unknown")
    return node["metadata"]["name"], pool, age(node, now), ready, ", ".join(shown)


def process_row(record: ProcessRecord, now: float) -> tuple[str, ...]:
    """Returns name, pid, state, time in this state, resident memory, restarts, and why it ended last."""
    process, supervised = record.process(), record.supervisor is not None and record.supervisor.process()
    last = record.last_exit
    why = _why(last, now) if last else ""
    if process is not None:
        memory = f"{process.memory_info().rss / 1e6:.0f} MB"
        state, since = "running", duration(now - record.created)
    else:
        state, since, memory = "ended", duration(now - last.at) if last else "-", "-"
        if supervised and record.next_start is not None:
            state, why = "back-off", f"starts again in {duration(record.next_start - now)}; {why}"
        why = why or last_line(Path(record.log))
    restarts = str(record.restarts) if record.supervisor else "-"
    return record.name, str(record.pid), state, since, memory, restarts, why


def _why(last: Exit, now: float) -> str:
    reason = f": {last.why}" if last.why else ""
    return f"{exit_text(last.code)} {duration(now - last.at)} ago{reason}"
