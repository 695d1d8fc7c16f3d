"""Runs Muster's controller as a local process with the command and environment of its Deployment.

The process uses a token of the ServiceAccount, so that the deployed RBAC applies to it.
"""

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import yaml

from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.ports import free_port
from sandbox.cluster.processes import Processes
from tools.toolchain.paths import RunState
from tools.toolchain.steps import StepError

NAME = "controller"
NAMESPACE = "muster-system"
DEPLOYMENT = SERVICE_ACCOUNT = "muster-controller"
TOKEN_HOURS = 24
SETTLE_SECONDS = 1.0
HTTP_ADDRESS = "--http-address="


def start_controller(state: RunState, kubectl: Kubectl) -> None:
    """Starts or restarts the controller. Raises StepError if it exits immediately."""
    processes = Processes(state)
    argv, environment = _deployed_command(state, kubectl)
    kubeconfig = state.root / "controller.kubeconfig"
    write_token_kubeconfig(kubectl, kubeconfig)
    # Overrides the Deployment's port, which may be in use on this machine.
    argv.append(f"{HTTP_ADDRESS}127.0.0.1:{free_port()}")
    processes.start(NAME, argv, {**environment, "KUBECONFIG": str(kubeconfig)}, restarted=True)
    time.sleep(SETTLE_SECONDS)  # wrong flags or permissions fail immediately
    processes.check_start(NAME)


def update_controller(state: RunState, kubectl: Kubectl) -> bool:
    """Restarts the controller if it has ended or its Deployment's command differs; returns whether it did."""
    argv, environment = _deployed_command(state, kubectl)
    process = running(state)
    if process is not None:
        current = process.environ()
        if process.cmdline()[:-1] == argv and environment.items() <= current.items():
            return False
    Processes(state).stop(NAME)
    start_controller(state, kubectl)
    return True


def running(state: RunState) -> psutil.Process | None:
    """Returns the controller's process; None if it does not run."""
    row = Processes(state).table().get(NAME)
    return row.process() if row else None


def metrics_address(state: RunState) -> str:
    """Returns the URL of the controller's metrics; empty if it does not run."""
    process = running(state)
    arguments = process.cmdline() if process else []
    served = [a.removeprefix(HTTP_ADDRESS) for a in arguments if a.startswith(HTTP_ADDRESS)]
    return f"http://{served[-1]}/metrics" if served else ""


def _deployed_command(state: RunState, kubectl: Kubectl) -> tuple[list[str], dict[str, str]]:
    text = kubectl.run("get", "deployment", DEPLOYMENT, "-n", NAMESPACE, "-o", "json")
    return command_of(json.loads(text), state.volumes)


def command_of(deployment: Mapping[str, Any], volumes: Path) -> tuple[list[str], dict[str, str]]:
    """Returns the command line and environment of a Deployment's only container, with our Python; arguments
    that name a mounted volume name a folder in `volumes` instead.

    Raises StepError if the Deployment requires something that a local process cannot have.
    """
    metadata, pod = deployment["metadata"], deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    command = [*container.get("command", ()), *container.get("args", ())]
    if not command or command[0] not in ("python", "python3"):
        raise StepError(
            f"Deployment {metadata['name']}: expected a command that starts with python: {command}"
        )
    known_fields = {"metadata.namespace": metadata["namespace"], "metadata.name": f"{metadata['name']}-local"}
    environment: dict[str, str] = {}
    for variable in container.get("env", ()):
        field = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        value = variable.get("value", known_fields.get(field))
        if value is None:
            raise StepError(
                f"Deployment {metadata['name']}: the sandbox cannot provide env {variable['name']}"
            )
        environment[variable["name"]] = value
    mounts = {mount["mountPath"]: volumes / mount["name"] for mount in container.get("volumeMounts", ())}
    return [sys.executable, *(_with_folder(argument, mounts) for argument in command[1:])], environment


def _with_folder(argument: str, mounts: Mapping[str, Path]) -> str:
    """Returns --flag=PATH with the local folder of its volume."""
    flag, sign, path = argument.partition("=")
    for mounted_at, folder in mounts.items():
        if path == mounted_at or path.startswith(f"{mounted_at}/"):
            return f"{flag}{sign}{folder}{path.removeprefix(mounted_at)}"
    return argument


def write_token_kubeconfig(kubectl: Kubectl, path: Path) -> None:
    """Writes a kubeconfig that acts as the controller's ServiceAccount, readable by this user only."""
    arguments = ("create", "token", SERVICE_ACCOUNT, "-n", NAMESPACE, f"--duration={TOKEN_HOURS}h")
    token = kubectl.run(*arguments).strip()
    administrator = yaml.safe_load(kubectl.kubeconfig.read_text())
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": administrator["clusters"],
        "users": [{"name": SERVICE_ACCOUNT, "user": {"token": token}}],
        "contexts": [
            {
                "name": SERVICE_ACCOUNT,
                "context": {
                    "cluster": administrator["clusters"][0]["name"],
                    "user": SERVICE_ACCOUNT,
                    "namespace": NAMESPACE,
                },
            }
        ],
        "current-context": SERVICE_ACCOUNT,
    }
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(kubeconfig))
