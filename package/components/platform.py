"""The whole platform."""

from collections.abc import Mapping
from typing import Any

from components.platform import Platform as WholePlatform
from components.platform import PlatformArgs
from package.base import Exposed
from settings.model.base import Model
from settings.model.stack import Settings


class PlatformOutputs(Model):
    """Location of the platform's cluster, and values for its users."""

    cluster: str
    """Name of the cluster."""
    engine: str
    """The engine that admits gangs."""
    queues: dict[str, str]
    """The cluster queue behind each local queue, which is written `namespace/name`."""
    kubectl: str
    """A command that logs in and lists the queues."""
    serving: dict[str, str]
    """Addresses of the tenants' Ray Serve applications, by namespace."""


class Platform(Exposed):
    """A GKE cluster with its network and node pools, or an existing cluster; KubeRay, queues, tenants,
    admission policies and the engine that admits gangs. Its inputs are the sections of a stack file."""

    inputs = Settings
    outputs = PlatformOutputs

    def sections(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        return inputs

    def declare(self, settings: Settings, inputs: Mapping[str, Any]) -> dict[str, Any]:
        return WholePlatform("platform", PlatformArgs(settings), self.child()).outputs
