"""A cluster that the stack does not create, and the cluster of any kind."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from settings.model.base import DnsLabel, Model, refuse, with_tuples
from settings.model.destinations import Destination
from settings.model.foundation.cluster import Gke
from settings.model.foundation.place import Autopilot, GkePlace
from settings.model.google_cloud import LABELS_MAX, GoogleLabelKey, GoogleLabelValue
from settings.model.regions import Location, Zone


class Joined(Model):
    """A Standard GKE cluster created elsewhere; the stack adds node pools and Google Cloud resources to it.

    Features that are needed, such as Workload Identity and the driver of Cloud Storage FUSE, are taken to be
    on: they are not in the stack file.
    """

    location: Location
    """The cluster's region, or its zone."""
    zones: tuple[Zone, ...] = ()
    """Zones of the nodes. Regional cluster: all zones (none: GKE chose); zonal cluster: additional ones."""
    labels: dict[GoogleLabelKey, GoogleLabelValue] = Field(default_factory=dict, max_length=LABELS_MAX)
    """Labels of the stack's Google Cloud resources, for cost allocation."""
    deletion_protection: bool = True
    """Makes GKE and Pulumi refuse to delete the stack's node pools, and tenants' namespaces and buckets."""
    enable_apis: bool = True
    """Enables the Google Cloud APIs that the stack uses, which stay enabled when it is destroyed."""


class Existing(Model):
    """A cluster that already runs, reached through the KUBECONFIG of the environment."""

    kind: Literal["existing"]
    """Uses a cluster that the stack does not create."""
    name: DnsLabel
    """Name of the cluster in the stack's outputs, and with `gke` in GKE."""
    context: Annotated[str, Field(min_length=1)] | None = None
    """Context in the kubeconfig; the current one if unset."""
    serves_mutating_policies: bool = True
    """True if the cluster serves MutatingAdmissionPolicy v1 (Kubernetes 1.36 or later)."""
    api_server: tuple[Destination, ...] = ()
    """The API server's addresses behind the Service `kubernetes`, to which the heads of isolated tenants
    connect: without them, Ray's autoscaler works only if they are public and tenants have egress `https`.
    `kubectl get endpointslices -n default` shows them."""
    gke: Joined | None = None
    """The cluster's place in GKE; if unset, Google Cloud resources are not available, and all pools are in
    the cluster already."""
    autopilot: Autopilot = False
    """True for an Autopilot cluster, which is refused: it has no node pools."""

    @property
    def place(self) -> GkePlace | None:
        """The name and the location of the cluster; None outside GKE."""
        if self.gke is None:
            return None
        return GkePlace(self.name, self.gke.location, self.gke.zones, self.gke.deletion_protection)

    @model_validator(mode="before")
    @classmethod
    def _is_not_made_here(cls, values: Any) -> Any:
        gke_only = _keys(Gke) - _keys(cls)
        if isinstance(values, dict) and (wrong := sorted(gke_only & values.keys())):
            joined = sorted(_keys(Joined) & set(wrong))
            below = f"; write {' and '.join(joined)} below `gke`" if joined else ""
            refuse(
                f"no {' or '.join(wrong)}: only clusters that the stack creates have such keys{below}",
                "remove them, or write kind: gke",
            )
        return with_tuples(values)


def _keys(model: type[Model]) -> set[str]:
    """Returns the model's keys as written in a stack file."""
    return {field.alias or name for name, field in model.model_fields.items()}


Cluster = Annotated[Gke | Existing, Field(discriminator="kind")]
