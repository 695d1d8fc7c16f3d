"""A GKE cluster for Ray: network, cluster and node pools."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from components.foundation.foundation import Foundation, FoundationArgs
from package.base import Exposed
from settings.model.base import Model
from settings.model.foundation.cluster import Gke
from settings.model.foundation.network import Network
from settings.model.operators.kuberay import Addon
from settings.model.pools.machine_facts import MachineTypes
from settings.model.pools.pool import Pool
from settings.model.stack import Settings


class RayClusterInputs(Model):
    """The parts of a stack file that describe a cluster on GKE."""

    project: str
    """The Google Cloud project of all resources."""
    cluster: Gke
    """The cluster."""
    network: Network | None = None
    """A dedicated VPC; if unset, the cluster uses an existing network of the project."""
    machine_types: MachineTypes = Field(default_factory=dict)
    """Machine types of pools that Muster does not know yet, or knows with other values."""
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)]
    """Node pools; at least one must be on-demand and without accelerators, for system pods."""
    ray_addon: Addon | None = None
    """GKE's Ray add-on, which installs KubeRay; off if unset."""


class RayClusterOutputs(Model):
    """Outputs that programs need to declare resources in the cluster."""

    name: str
    """Name of the cluster in GKE."""
    location: str
    """Zone or region of the cluster."""
    project: str
    """Google Cloud project of the cluster."""
    cluster_id: str
    """Resource ID of the cluster: use it as `clusterIdentifier` of a Kubernetes provider, so that a changed
    address does not replace its objects."""
    kubeconfig: str
    """A kubeconfig without credentials, for gke-gcloud-auth-plugin."""
    private_address: str
    """Address at which pods reach its control plane: `apiServerAddress` of its tenants."""
    node_pools: tuple[str, ...]
    """Names of its node pools."""


class RayCluster(Exposed):
    """A VPC-native GKE cluster for Ray, with Workload Identity, its own service account for nodes, and node
    pools: CPUs, queued or spot GPUs, TPU slices."""

    inputs = RayClusterInputs
    outputs = RayClusterOutputs
    absent = frozenset({"admission", "controller", "queues"})
    places = {"kuberay.addon": "rayAddon"}

    def sections(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        sections = {key: value for key, value in inputs.items() if key != "rayAddon"}
        if addon := inputs.get("rayAddon"):
            sections["kuberay"] = {"install": "addon", "addon": addon}
        return sections

    def declare(self, settings: Settings, inputs: Mapping[str, Any]) -> dict[str, Any]:
        cluster, project = settings.cluster, settings.project
        assert isinstance(cluster, Gke), "RayCluster's inputs have no other kind"
        assert project, "the settings' rules require a project for GKE"
        foundation = Foundation("foundation", FoundationArgs(settings, cluster, project), self.child())
        return {
            "name": foundation.name,
            "location": cluster.location,
            "project": project,
            "clusterId": foundation.cluster_id,
            "kubeconfig": foundation.kubeconfig,
            "privateAddress": foundation.private_address,
            "nodePools": foundation.node_pools,
        }
