"""Starts the stock KubeRay operator, and the stand-ins for Ray's dashboard and queued provisioning."""

import sys
from functools import partial
from pathlib import Path

from sandbox.cluster.ports import free_port
from sandbox.cluster.processes import Processes, answers, listens, wait_until
from tools.toolchain.paths import RunState

READY_SECONDS_MAX = 30.0
PROVISIONER = "provisioner"


def start_dashboard(processes: Processes, ray: Path | None) -> int:
    """Starts the stand-in for Ray's dashboard; returns its port. `ray`: see `start_operators`."""
    port = free_port()
    argv = [sys.executable, "-m", "sandbox.stand_ins.ray_dashboard"]
    argv += ["--kubeconfig", str(processes.state.kubeconfig), "--port", str(port)]
    argv += ["--ray", str(ray), "--logs", str(processes.state.logs)] if ray else []
    processes.start("ray-dashboard", argv, restarted=True)
    alive = partial(processes.check_start, "ray-dashboard")
    wait_until("Ray's dashboard listening", lambda: listens(port), READY_SECONDS_MAX, alive)
    return port


def start_provisioner(processes: Processes, stack_file: Path) -> None:
    """Starts the stand-in for GKE's queued provisioning, with the queued pools of this stack."""
    argv = [sys.executable, "-m", "sandbox.stand_ins.provisioner"]
    argv += ["--kubeconfig", str(processes.state.kubeconfig), "--stack-file", str(stack_file)]
    processes.start(PROVISIONER, argv, restarted=True)


def update_provisioner(processes: Processes, stack_file: Path) -> bool:
    """Restarts the stand-in if it has ended or is older than the stack file; returns whether it did."""
    row = processes.table().get(PROVISIONER)
    if row is not None and row.process() is not None and row.created > stack_file.stat().st_mtime:
        return False
    processes.stop(PROVISIONER)
    start_provisioner(processes, stack_file)
    return True


FEATURE_GATES = "--feature-gates=RayCronJob=true"
"""The flag of KubeRay for kinds that are off by default."""


def start_ray_operator(
    processes: Processes, executable: Path, dashboard_port: int, batch_scheduler: str
) -> None:
    """Starts the KubeRay operator; the stand-in receives its requests to Ray's dashboards.

    The operator calls http://<head service>.<namespace>.svc.cluster.local:8265. The stand-in is the HTTP
    proxy in its environment and so gets these calls, while the API server on loopback is reached directly.
    `batch_scheduler` places Ray's pods; empty for the Kubernetes scheduler.
    """
    health_port = free_port()
    argv = [
        str(executable),
        "--enable-leader-election=false",
        "--metrics-addr=127.0.0.1:0",
        f"--health-probe-bind-address=127.0.0.1:{health_port}",
        "--reconcile-concurrency=4",
        "--qps=1000",
        "--burst=2000",
        FEATURE_GATES,
        *([f"--batch-scheduler={batch_scheduler}"] if batch_scheduler else []),
    ]
    environment = {
        "KUBECONFIG": str(processes.state.kubeconfig),
        "HTTP_PROXY": f"http://127.0.0.1:{dashboard_port}",
        "ENABLE_WEBHOOKS": "false",
    }
    processes.start("ray-operator", argv, environment, restarted=True)
    wait_until(
        "the KubeRay operator becoming ready",
        lambda: answers(f"http://127.0.0.1:{health_port}/readyz"),
        READY_SECONDS_MAX,
        partial(processes.check_start, "ray-operator"),
    )


def start_operators(
    state: RunState, ray_operator: Path, stack_file: Path, batch_scheduler: str = "", ray: Path | None = None
) -> None:
    """Starts all three; raises StepError with the end of a log if a process exits.

    `ray`: a Python with Ray, which executes the jobs; None: they are simulated.
    """
    processes = Processes(state)
    start_provisioner(processes, stack_file)
    start_ray_operator(processes, ray_operator, start_dashboard(processes, ray), batch_scheduler)
    processes.check_start(PROVISIONER)
