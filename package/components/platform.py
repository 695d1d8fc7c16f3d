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
    accounts: dict[str, str]
    """E-mail addresses of the Google service accounts of `nodes`, and with a journal of the `controller`."""
    buckets: dict[str, str]
    """Names of the buckets of the `journal` and of archived `logs`."""
    tenant_accounts: dict[str, str]
    """E-mail addresses of the tenants' Google service accounts, by namespace."""
    tenant_buckets: dict[str, str]
    """Names of the tenants' buckets, by namespace."""
    project: str | None = None
    """Google Cloud project of a cluster that the platform created, as all outputs below."""
    location: str | None = None
    """Zone or region of the cluster."""
    cluster_id: str | None = None
    """Resource ID of the cluster, which identifies it at any address."""
    endpoint: str | None = None
    """URL of the cluster's control plane."""
    private_address: str | None = None
    """Address at which pods reach the control plane."""
    kubeconfig: str | None = None
    """A kubeconfig without credentials, for gke-gcloud-auth-plugin; secret."""
    network: dict[str, str] | None = None
    """`network` and `subnetwork`: the names of the VPC and the subnet of the nodes."""
    node_pools: tuple[str, ...] | None = None
    """Names of the cluster's node pools."""


class Platform(Exposed):
    """A GKE cluster with its network and node pools, or an existing cluster; KubeRay, queues, tenants,
    admission policies and the engine that admits gangs. Its inputs are the sections of a stack file."""

    inputs = Settings
    outputs = PlatformOutputs

    def sections(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        return inputs

    def declare(self, settings: Settings, inputs: Mapping[str, Any]) -> dict[str, Any]:
        return WholePlatform("platform", PlatformArgs(settings), self.child()).outputs
