"""`status`: shows queues, workloads with their state and reason, nodes and processes."""

import time
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from sandbox.cluster.controller_process import metrics_address
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.page_process import page_address
from sandbox.cluster.processes import Processes
from sandbox.running import engine_of, existing_names, up_since
from sandbox.status_rows import (
    kai_queue_row,
    node_row,
    pod_group_row,
    process_row,
    queue_row,
    workload_row,
)
from tools.toolchain.console import console, duration, table
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen, StepError

API_SERVER = "kube-apiserver"
WORKLOADS = ("namespace", "job", "workload", "queue", "priority", "age", "state", "reason", "why")
PROCESSES = ("name", "pid", "state", "since", "memory", "restarts", "why")
POD_GROUPS = ("namespace", "job", "pod group", "queue", "priority", "age", "pods on nodes", "reason", "why")


def status(state: RunState) -> int:
    """Prints the state of the sandbox; returns 0 if it is up and its API server answers."""
    screen, since = console(), up_since(state)
    if since is None:
        screen.print(_not_up(state), highlight=False, soft_wrap=True)
        return 1
    kubectl = Kubectl(ensure_tools(["kubectl"], Screen())["kubectl"].path, state.kubeconfig)
    engine, up = engine_of(state), duration(time.time() - since)
    metrics = f", metrics at {address}" if (address := metrics_address(state)) else ""
    page = f", page at {address}" if (address := page_address(state)) else ""
    try:
        kubectl.run("get", "--raw=/readyz", timeout_seconds=10)
    except StepError:
        screen.print(_dead(state, engine), highlight=False, soft_wrap=True, style="red")
        _processes(state, screen)
        return 1
    screen.print(
        f"sandbox {state.name}: engine {engine}, up for {up}{metrics}{page}", highlight=False, soft_wrap=True
    )
    _kai(kubectl, screen) if engine == "kai" else _kueue(kubectl, screen)
    nodes = [node_row(node, time.time()) for node in kubectl.objects("nodes")]
    _table(screen, "Nodes", ("name", "pool", "age", "ready", "capacity"), nodes)
    _processes(state, screen)
    return 0


def _not_up(state: RunState) -> str:
    names = existing_names(state.checkout)
    if state.name in names:
        again = state.command("up", ENGINE=engine_of(state))
        return f"sandbox {state.name} is stopped; {again} starts it, logs are in {state.logs}"
    there_are = f"there are {', '.join(names)}" if names else "there is none"
    return f"no sandbox {state.name!r}, {there_are}; {state.command('up')} creates it"


def _dead(state: RunState, engine: str) -> str:
    row = Processes(state).table().get(API_SERVER)
    why = "does not answer" if row is not None and row.process() is not None else "has ended"
    return (
        f"sandbox {state.name}: its API server {why}; {state.command('logs', PROCESS=API_SERVER)} "
        f"may have the reason; {state.command('up', ENGINE=engine, FRESH='1')} replaces the sandbox"
    )


def _kueue(kubectl: Kubectl, screen: Console) -> None:
    queues = [queue_row(queue) for queue in kubectl.objects("clusterqueues.kueue.x-k8s.io")]
    _table(screen, "ClusterQueues", ("name", "cohort", "pending", "admitted", "used of nominal"), queues)
    workloads = kubectl.objects("workloads.kueue.x-k8s.io")
    _table(screen, "Workloads", WORKLOADS, [workload_row(w, time.time()) for w in workloads])


def _kai(kubectl: Kubectl, screen: Console) -> None:
    queues = [kai_queue_row(queue) for queue in kubectl.objects("queues.scheduling.run.ai")]
    _table(screen, "KAI queues", ("name", "parent", "GPU quota", "GPU limit"), queues)
    pods = kubectl.objects("pods")
    groups = kubectl.objects("podgroups.scheduling.run.ai")
    _table(screen, "PodGroups", POD_GROUPS, [pod_group_row(g, pods, time.time()) for g in groups])


def _processes(state: RunState, screen: Console) -> None:
    rows = [process_row(row, time.time()) for row in Processes(state).table().values()]
    _table(screen, "Processes", PROCESSES, rows)
    screen.print(f"logs: {state.logs}", highlight=False, soft_wrap=True)


COLORS = {
    "Admitted": "green",
    "Finished": "dim",
    "Evicted": "yellow",
    "Pending": "yellow",
    "QuotaReserved": "cyan",
    "ended": "red",
    "back-off": "red",
    "False": "red",
    "Unknown": "red",
}


def _table(screen: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    screen.print(table(title, columns, [[Text(cell, COLORS.get(cell, "")) for cell in row] for row in rows]))
