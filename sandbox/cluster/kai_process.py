"""Runs the real KAI Scheduler, unchanged and without root: its services as processes under one kubeconfig.

Left out: KAI's operator, which would make Deployments of them; its webhooks, which serve pods that share GPUs
and check queues; and the controller that tells PodGroups' status, and with it the queues' usage: it listens
on port 8080 whatever it is told, so that no second sandbox could run. Simulated GPU nodes carry the label by
which KAI counts their GPUs, as NVIDIA's feature discovery would set it (sandbox/cluster/nodes.py).
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from sandbox.cluster.processes import Processes, answers, free_port, wait_until

SERVICES = ("kai-scheduler", "kai-binder", "kai-podgrouper", "kai-queuecontroller")
READY_SECONDS_MAX = 30.0
CYCLE = "500ms"  # half of the default: nobody waits for a cluster of this size


def start(processes: Processes, tools: Mapping[str, Path], kubeconfig: Path) -> None:
    """Starts all of KAI and waits until it answers.

    Raises StepError, with the end of its log, for a service that ends or does not answer in time.
    """
    metrics = {name: f"127.0.0.1:{free_port()}" for name in SERVICES}
    for name, address in metrics.items():
        argv = [str(tools[name]), *flags(name, address)]
        processes.start(name, argv, env={"KUBECONFIG": str(kubeconfig)})
    for name, address in metrics.items():
        # Not their health endpoints: the scheduler has none, and the binder's knows no check.
        up = partial(answers, f"http://{address}/metrics")
        wait_until(f"{name} answering", up, READY_SECONDS_MAX, partial(processes.check, name))


def flags(name: str, metrics: str) -> list[str]:
    """The command line of one service that tells of itself at `metrics`, all of it on loopback."""
    probe = f"--health-probe-bind-address=127.0.0.1:{free_port()}"
    match name:
        case "kai-scheduler":
            # For plug-ins of the scheduler; KAI binds it on every address.
            plugins = f"--plugin-server-port={free_port()}"
            return [f"--listen-address={metrics}", plugins, f"--schedule-period={CYCLE}"]
        case "kai-queuecontroller":
            return ["--enable-webhook=false", f"--metrics-listen-address={metrics}"]
        case _:
            return [f"--metrics-bind-address={metrics}", probe]
