"""One team: its namespace, local queues, access and bounds."""

from collections.abc import Mapping
from typing import Annotated, Any

import pulumi
import pulumi_gcp as gcp
from pydantic import Field

from components.foundation.control_plane import at_address
from components.foundation.google_cloud import GoogleCloud
from components.queues.queues import local_queue
from components.tenants.tenants import Tenants, TenantsArgs
from package.base import EXISTING, Exposed, Later
from settings.model.base import Model
from settings.model.foundation.cluster import ClusterName
from settings.model.foundation.place import GkePlace
from settings.model.stack import Settings
from settings.model.tenants.tenant import Tenant as TenantSettings

OF_GOOGLE = ("identity", "checkpoints", "secrets", "serving")
# The cluster of a tenant on Google Cloud: with everything that a tenant may need.
GKE: dict[str, Any] = {
    "kind": "gke",
    "name": "ray",
    "csiDrivers": ["persistent-disk", "gcs-fuse"],
    "gatewayApi": True,
    "secretManager": {},
    "securityGroup": "gke-security-groups@example.com",
}


class TenantInputs(TenantSettings):
    """A team, as in a stack file, and where its Google Cloud resources are."""

    project: str | None = None
    """The cluster's Google Cloud project; required with `identity`, `checkpoints`, `secrets` and
    `serving`."""
    region: str | None = None
    """The cluster's region; required with `project`."""
    cluster: ClusterName | None = None
    """The cluster's name, which its Google Cloud resources have in their names; set it if several clusters of
    the project have tenants."""
    api_server_address: Annotated[str | None, Later()] = None
    """Address at which pods reach the API server on port 443, such as `privateAddress` of RayCluster. Heads
    may connect to it in an isolated namespace, which Ray's autoscaler needs."""
    google_labels: dict[str, str] = Field(default_factory=dict)
    """Labels of its Google Cloud resources, to attribute their costs."""
    protect_data: bool = False
    """Refuses to delete its namespace and its bucket."""


class TenantOutputs(Model):
    """Names and addresses for the team."""

    namespace: str
    """Namespace of the tenant."""
    queues: tuple[str, ...]
    """Local queues of the tenant, for the labels of jobs."""
    addresses: dict[str, str]
    """The address of its Ray Serve applications, by namespace; none without `serving`."""


class Tenant(Exposed):
    """A team's namespace with its local queues, RBAC, quotas, limits and network policies, and on Google
    Cloud its service account, bucket and web address. Declare it after Queues, whose cluster queues it names.
    """

    inputs = TenantInputs
    outputs = TenantOutputs
    absent = frozenset({"admission", "controller", "pools", "queues"})
    places = {"tenants[0].": "", "cluster.location": "region", "cluster.name": "cluster"}

    def sections(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        elsewhere = {"project", "region", "cluster", "googleLabels", "protectData", "apiServerAddress"}
        tenant = {key: value for key, value in inputs.items() if key not in elsewhere}
        sections: dict[str, Any] = {"tenants": [tenant], "cluster": EXISTING}
        if "project" in inputs or any(key in inputs for key in OF_GOOGLE):
            name = inputs.get("cluster", GKE["name"])
            sections["cluster"] = {**GKE, "name": name, "location": inputs.get("region", "")}
            sections |= {"project": inputs["project"]} if "project" in inputs else {}
        return sections

    def declare(self, settings: Settings, inputs: Mapping[str, Any]) -> dict[str, Any]:
        address = inputs.get("apiServerAddress")
        args = TenantsArgs(
            settings.tenants,
            inputs.get("protectData", False),
            self._google(settings.place, inputs),
            operator_hosted=False,
            api_servers=at_address(pulumi.Output.from_input(address)) if address else (),
        )
        tenants = Tenants("tenants", args, self.child())
        (tenant,) = settings.tenants
        namespace = tenants.namespaces[tenant.namespace]
        for name in tenant.queues:
            local_queue(tenant, name, self.child(depends_on=[namespace], deleted_with=namespace))
        return {
            "namespace": namespace.metadata["name"],
            "queues": list(tenant.queues),
            "addresses": tenants.addresses,
        }

    def _google(self, cluster: GkePlace | None, inputs: Mapping[str, Any]) -> GoogleCloud | None:
        if "project" not in inputs or cluster is None:
            return None
        project = inputs["project"]
        inherited = self.get_provider("gcp:index:Provider")
        provider = inherited or gcp.Provider(self.named("google"), project=project, opts=self.child())
        labels = inputs.get("googleLabels", {})
        return GoogleCloud(project, cluster.region, provider, labels, cluster, ())
