"""Derives the program of a RayJob from its head pod: mounted files, environment and GPUs. Pure.

The path of a mount (`/home/ray/train`) does not exist on this machine. It is replaced with the path of a
local folder, as text, in the entrypoint and in the container's environment. Not simulated: images, valueFrom,
subPath, init containers.
"""

import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sandbox.cluster.kinds import Object

GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class RayProgram:
    """The program of a RayJob: its entrypoint, its environment variables, and its runtime environment."""

    entrypoint: str
    variables: Mapping[str, str]
    runtime_env: Mapping[str, Any]


def head_container(rayjob: Object) -> Object:
    """Returns the head's container that runs Ray."""
    container: Object = _head_pod(rayjob)["containers"][0]
    return container


def mounts(rayjob: Object) -> dict[str, Object]:
    """Returns the volumes that the head mounts, by path."""
    volumes = {volume["name"]: volume for volume in _head_pod(rayjob).get("volumes") or ()}
    return {m["mountPath"]: volumes[m["name"]] for m in head_container(rayjob).get("volumeMounts") or ()}


def program(rayjob: Object, folders: Mapping[str, Path]) -> RayProgram:
    """Returns the program, with each mounted path replaced with its folder."""

    def localized(text: str) -> str:
        for path in sorted(folders, key=len, reverse=True):
            text = text.replace(path, str(folders[path]))
        return text

    # `ray job submit` receives the words from a shell, and submits them as one line.
    entrypoint = subprocess.list2cmdline(shlex.split(rayjob["spec"]["entrypoint"]))
    variables = {
        e["name"]: localized(e["value"]) for e in head_container(rayjob).get("env") or () if "value" in e
    }
    cluster = {"RAY_CLUSTER_NAME": str(rayjob["status"]["rayClusterName"])}  # as KubeRay sets it
    runtime_env = yaml.safe_load(rayjob["spec"].get("runtimeEnvYAML") or "{}")
    return RayProgram(localized(entrypoint), {**variables, **cluster}, runtime_env)


def gpus(rayjob: Object) -> int:
    """Returns the number of GPUs of all workers."""
    return sum(
        int(group.get("replicas", 1)) * int(_limits(group).get(GPU, 0))
        for group in rayjob["spec"]["rayClusterSpec"].get("workerGroupSpecs") or ()
    )


def _limits(group: Object) -> Object:
    limits: Object = group["template"]["spec"]["containers"][0]["resources"].get("limits") or {}
    return limits


def _head_pod(rayjob: Object) -> Object:
    spec: Object = rayjob["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    return spec
