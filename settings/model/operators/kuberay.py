"""KubeRay's operator: from its Helm chart, as GKE's Ray add-on, or already there."""

from typing import Annotated, Literal

from pydantic import Field

from settings.model.base import DnsLabel, Model
from settings.model.operators.shared import ApiClient, ChartImage, Release, Replicas, Resources

KUBERAY_VERSION = "1.6.2"

# Those of KUBERAY_VERSION (ray-operator/pkg/features): the operator does not start with one it doesn't know.
Gate = Literal[
    "AsyncJobInfoQuery",
    "RayClusterStatusConditions",
    "RayCronJob",
    "RayJobDeletionPolicy",
    "RayMultiHostIndexing",
    "RayServiceIncrementalUpgrade",
]


class Addon(Model):
    """What GKE's Ray add-on does beside running the operator (GKE API: RayOperatorConfig)."""

    logging: bool = True
    """Logs of Ray clusters go to Cloud Logging."""
    monitoring: bool = True
    """Metrics of Ray clusters are scraped by managed Prometheus."""


class KubeRay(Model):
    """KubeRay's operator, which makes pods of Ray objects once their queue admits them."""

    install: Literal["helm", "addon", "existing"] = "helm"
    """By its Helm chart, as GKE's Ray add-on (GKE picks its version and runs it itself), or not at all
    because it is there already; the keys of the ways that are not taken are refused."""
    version: Release | None = None
    """Of chart and CRDs; the one in `settings/model/operators/kuberay.py` (KUBERAY_VERSION) unless given."""
    image: ChartImage | None = None
    """Another than the chart's, such as your mirror's."""
    replicas: Replicas = 1
    """One leads, the others stand by."""
    resources: Resources = Resources.of("250m", "512Mi", cpu_limit="1", memory_limit="1Gi")
    """Of each replica; they grow with the number of Ray clusters."""
    client: ApiClient = ApiClient(qps=100, burst=200)
    """How fast it may talk to the API server."""
    reconcile_concurrency: Annotated[int, Field(ge=1)] = 10
    """How many Ray objects of a kind it works on at once."""
    feature_gates: dict[Gate, bool] = Field(default_factory=dict)
    """Each on or off; `RayCronJob: true` brings that kind's CRD along."""
    watch_namespaces: tuple[DnsLabel, ...] = ()
    """The namespaces it works in, all tenants' among them (none: every namespace)."""
    addon: Addon = Addon()
    """With `install: addon` only."""

    @property
    def chart_version(self) -> str:
        return self.version or KUBERAY_VERSION
