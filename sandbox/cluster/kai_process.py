"""Runs the real KAI Scheduler, unchanged and without root: its services as processes with one kubeconfig.

Not included: KAI's operator, which would deploy them; its webhooks, for pods that share GPUs and for queues;
and the controller of PodGroups' status and queues' usage, which always listens on port 8080, so that a second
sandbox could not run. Simulated GPU nodes have the label by which KAI counts their GPUs, as NVIDIA's feature
discovery would set it (sandbox/cluster/nodes.py).
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from sandbox.cluster.ports import free_port
from sandbox.cluster.processes import Processes, answers, wait_until

SERVICES = ("kai-scheduler", "kai-binder", "kai-podgrouper", "kai-queuecontroller")
READY_SECONDS_MAX = 30.0
CYCLE = "500ms"  # half of the default, as the cluster is small


def start(processes: Processes, tools: Mapping[str, Path], kubeconfig: Path) -> None:
    """Starts all services of KAI and waits until they respond.

    Raises StepError with the end of the log of a service that exits or does not respond in time.
    """
    metrics = {name: f"127.0.0.1:{free_port()}" for name in SERVICES}
    for name, address in metrics.items():
        argv = [str(tools[name]), *flags(name, address)]
        processes.start(name, argv, env={"KUBECONFIG": str(kubeconfig)}, restarted=True)
    for name, address in metrics.items():
        # Not the health endpoints: the scheduler has none, and the binder's has no checks.
        up = partial(answers, f"http://{address}/metrics")
        wait_until(f"{name} answering", up, READY_SECONDS_MAX, partial(processes.check_start, name))


def flags(name: str, metrics: str) -> list[str]:
    """Returns the flags of one service, with metrics at the address `metrics`, all on loopback."""
    probe = f"--health-probe-bind-address=127.0.0.1:{free_port()}"
    match name:
        case "kai-scheduler":
            # For plugins of the scheduler; KAI binds it to all addresses.
            plugins = f"--plugin-server-port={free_port()}"
            return [f"--listen-address={metrics}", plugins, f"--schedule-period={CYCLE}"]
        case "kai-queuecontroller":
            return ["--enable-webhook=false", f"--metrics-listen-address={metrics}"]
        case _:
            return [f"--metrics-bind-address={metrics}", probe]
