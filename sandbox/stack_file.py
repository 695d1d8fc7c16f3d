"""The stack file of the sandbox: stacks/Pulumi.local.yaml, with the requested engine."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sandbox.realnodes.addresses import API_PORT, NETWORKS
from settings.load import Settings, SettingsError, load, parse
from tools.toolchain.paths import CHECKOUT, RunState
from tools.toolchain.steps import StepError

STACK = "local"
REAL_NODES_CPUS = "2500m"
"""The CPUs of the first queue on real nodes: examples/cpu-train.rayjob.yaml uses them all, so that production
has to preempt it."""
GPU_NODES_CPUS = "100m"
"""The CPUs of the first queue on simulated GPU nodes: too few for a pod of the examples, which would
never end there; a queue without any could admit no gang with GPUs, which the settings refuse."""
DEVICE, DEVICE_CLASS = "example.com/gpu", "gpu.example.com"
DEVICE_QUOTA = 3
"""Quota of the devices that real nodes offer by claims."""
RECOVERY: dict[str, Any] = {
    "timeoutSeconds": 600,
    "recoveryTimeoutSeconds": 30,
    "requeuing": {"baseSeconds": 5, "maxSeconds": 60},
}
"""The controller's waitForPodsReady on real nodes, which can be lost."""
SOURCE = CHECKOUT / "stacks" / f"Pulumi.{STACK}.yaml"


@dataclass(frozen=True)
class StackFile:
    """The content of a stack file for an engine.

    content: the parsed YAML. changes: sentences about other settings that the engine changes.
    """

    content: dict[str, Any]
    settings: Settings
    changes: list[str]

    def write(self, path: Path) -> None:
        """Writes the content to `path`."""
        path.write_text(yaml.safe_dump(self.content, sort_keys=False))


def read(engine: str, source: Path | None = None, *, real_nodes: bool = False) -> StackFile:
    """Returns the stack file for this engine and these nodes.

    Raises StepError with all problems of an invalid file.
    """
    source = source or SOURCE
    try:
        load(source)  # reports a file that is not YAML or not a stack with the error messages of settings
        content, changes = stack_for(engine, source, real_nodes=real_nodes)
        return StackFile(content, parse(content["config"], str(source)), changes)
    except SettingsError as error:
        raise StepError(str(error), try_this=f"edit {source}") from error


def stack_for(
    engine: str, source: Path | None = None, *, real_nodes: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """Returns the current content of the stack file for this engine and these nodes, and sentences about
    other settings that they change."""
    content: dict[str, Any] = yaml.safe_load((source or SOURCE).read_text(encoding="utf-8"))
    changes = settings_for(engine, content["config"])
    return content, [*changes, *(fit_to_real_nodes(content["config"]) if real_nodes else ())]


def settings_for(engine: str, config: dict[str, Any]) -> list[str]:
    """Sets the engine in the stack's settings; returns sentences about other settings that it changes.

    KAI creates no ProvisioningRequests, so queued pools would never get nodes.
    """
    config.setdefault("muster:admission", {})["engine"] = engine
    if engine != "kai":
        return []
    queued = [pool for pool in config["muster:pools"] if pool.get("provisioning") == "queued"]
    for pool in queued:
        pool["provisioning"] = "on-demand"
    return [f"{pool['name']} on demand instead of queued, as KAI requires" for pool in queued]


def fit_to_real_nodes(config: dict[str, Any]) -> list[str]:
    """Changes the stack's settings for real nodes, which have the CPUs of this machine; returns a sentence
    for each change."""
    (queue, *_) = config["muster:queues"]["clusterQueues"]
    quotas = queue["quotas"]
    quotas.get("cpu", {})["cpu"] = {"nominal": REAL_NODES_CPUS, "borrowingLimit": 0}
    quotas.get("l4", {})["cpu"] = {"nominal": GPU_NODES_CPUS, "borrowingLimit": 0}
    admission, controller = config["muster:admission"], config["muster:controller"]
    controller.setdefault("page", {})
    changes = [
        f"queue {queue['name']} has {REAL_NODES_CPUS} of CPU on real nodes, "
        f"{GPU_NODES_CPUS} on simulated GPU nodes"
    ]
    config["muster:cluster"]["apiServer"] = [{"cidr": NETWORKS, "ports": [API_PORT]}]
    changes.append("heads of tenants reach the API server, which Ray's autoscaler needs")
    if admission["engine"] == "muster" and "deviceClasses" not in admission:
        admission["deviceClasses"] = [{"name": DEVICE, "deviceClassNames": [DEVICE_CLASS]}]
        quotas["cpu"][DEVICE] = {"nominal": DEVICE_QUOTA, "borrowingLimit": 0}
        changes.append(f"queue {queue['name']} has {DEVICE_QUOTA} devices of {DEVICE_CLASS}, by claims")
    if admission["engine"] == "muster" and "waitForPodsReady" not in controller:
        controller["waitForPodsReady"] = RECOVERY
        changes.append(f"a gang is evicted {RECOVERY['recoveryTimeoutSeconds']} s after its node is lost")
    return changes


def deployed(state: RunState) -> Path:
    """Returns the path of the deployed stack file, which `make up` and `make apply` write."""
    return state.root / f"Pulumi.{STACK}.yaml"
