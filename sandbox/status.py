"""`status`: what the queues hold, where each workload stands and why, the nodes, the processes."""

import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import Processes, Supervised
from sandbox.toolchain.console import table

Object = Mapping[str, Any]

_STATES = ("Finished", "Evicted", "Admitted", "QuotaReserved")
"""Conditions of a Workload, the one that says most about it first (Kueue's v1beta2 API)."""


def show(kubectl: Kubectl, console: Console) -> None:
    """Prints what the cluster holds. Raises StepError where the API server cannot be asked."""
    queues = [queue_row(queue) for queue in kubectl.objects("clusterqueues.kueue.x-k8s.io")]
    columns = ("name", "cohort", "pending", "admitted", "used of nominal")
    console.print(table("ClusterQueues", columns, queues))
    workloads = [workload_row(workload) for workload in kubectl.objects("workloads.kueue.x-k8s.io")]
    console.print(table("Workloads", ("namespace", "name", "queue", "priority", "state", "why"), workloads))
    nodes = [node_row(node) for node in kubectl.objects("nodes")]
    console.print(table("Nodes", ("name", "pool", "ready", "capacity"), nodes))


def process_table(processes: Processes) -> Table:
    """The sandbox's processes, those that have ended among them."""
    rows = [process_row(row) for row in processes.table().values()]
    return table(f"Processes (logs: {processes.state.logs})", ("name", "pid", "up", "memory"), rows)


def queue_row(queue: Object) -> tuple[str, ...]:
    """name, cohort, pending, admitted, usage as `flavor/resource used/nominal`."""
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


def workload_row(workload: Object) -> tuple[str, ...]:
    """namespace, name, queue, priority, state, and the message of the condition that gave the state."""
    state, why = workload_state(workload)
    spec, metadata = workload["spec"], workload["metadata"]
    queue, priority = spec.get("queueName", "-"), str(spec.get("priority", 0))
    return metadata["namespace"], metadata["name"], queue, priority, state, why


def workload_state(workload: Object) -> tuple[str, str]:
    """The condition that says most about the workload, and its message; Pending while none is true."""
    conditions = {c["type"]: c for c in workload.get("status", {}).get("conditions", ())}
    for name in _STATES:
        if (condition := conditions.get(name)) is not None and condition["status"] == "True":
            return name, condition.get("message", "")
    return "Pending", conditions.get("QuotaReserved", {}).get("message", "")


def node_row(node: Object) -> tuple[str, ...]:
    """name, pool, ready, and the capacity that jobs ask for."""
    conditions = {c["type"]: c["status"] for c in node.get("status", {}).get("conditions", ())}
    capacity = node.get("status", {}).get("capacity", {})
    wanted = [f"{capacity[name]} {name}" for name in ("cpu", "memory", "nvidia.com/gpu") if name in capacity]
    pool = node["metadata"].get("labels", {}).get("cloud.google.com/gke-nodepool", "-")
    return node["metadata"]["name"], pool, conditions.get("Ready", "Unknown"), ", ".join(wanted)


def process_row(supervised: Supervised) -> tuple[str, ...]:
    """name, pid, seconds up, resident memory; one that ended is said to have ended."""
    process = supervised.process()
    if process is None:
        return supervised.name, str(supervised.pid), "ended", "-"
    up, memory = time.time() - supervised.created, process.memory_info().rss
    return supervised.name, str(supervised.pid), f"{up:.0f} s", f"{memory / 1e6:.0f} MB"
