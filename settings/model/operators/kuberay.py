"""KubeRay's operator: from its Helm chart, as GKE's Ray add-on, or already installed."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from settings.model.base import DnsLabel, Model
from settings.model.operators.shared import ApiClient, ChartImage, Release, Replicas, Resources

KUBERAY_VERSION = "1.6.2"
# The commits of the versions' tags.
KUBERAY_COMMITS: Mapping[str, str] = {
    KUBERAY_VERSION: "598eb66aa077c55ae04fa87b192238a3ec184e88",
    "1.7.0": "59d663aeec13760646da3db9c1cf8cfe883e30b7",
}

# Feature gates of 1.6 and 1.7 (ray-operator/pkg/features); the operator exits on an unknown one.
# KubernetesWAS is left out: with it, Kubernetes may leave all pods of an admitted cluster pending.
Gate = Literal[
    "AsyncJobInfoQuery",
    "GCSFaultToleranceEmbeddedStorage",
    "RayClusterHistoryServer",
    "RayClusterMTLS",
    "RayClusterNetworkPolicy",
    "RayClusterStatusConditions",
    "RayCronJob",
    "RayJobDeletionPolicy",
    "RayMultiHostIndexing",
    "RayServiceIncrementalUpgrade",
    "SidecarSubmitterRestart",
]
SINCE_1_7: frozenset[Gate] = frozenset(
    {
        "GCSFaultToleranceEmbeddedStorage",
        "RayClusterHistoryServer",
        "RayClusterMTLS",
        "RayClusterNetworkPolicy",
        "SidecarSubmitterRestart",
    }
)
UNTIL_1_7: frozenset[Gate] = frozenset({"AsyncJobInfoQuery"})


class Addon(Model):
    """Options of GKE's Ray add-on (GKE API: RayOperatorConfig)."""

    logging: bool = True
    """Sends logs of Ray clusters to Cloud Logging."""
    monitoring: bool = True
    """Scrapes metrics of Ray clusters with managed Prometheus."""


class KubeRay(Model):
    """KubeRay's operator, which creates the pods of Ray objects once their queue admits them."""

    install: Literal["helm", "addon", "existing"] = "helm"
    """`helm`: installs the chart. `addon`: enables GKE's Ray add-on, which GKE runs and upgrades. `existing`:
    it is already installed. Keys that the choice does not use are refused."""
    version: Release | None = None
    """Version of the chart and CRDs; KUBERAY_VERSION in `settings/model/operators/kuberay.py` if unset."""
    image: ChartImage | None = None
    """Image to use instead of the chart's, such as one in your own mirror."""
    replicas: Replicas = 1
    """Replicas; one leads, the others are standbys."""
    resources: Resources = Resources.of("250m", "512Mi", cpu_limit="1", memory_limit="1Gi")
    """Resources of each replica; its use grows with the number of Ray clusters."""
    client: ApiClient = ApiClient(qps=100, burst=200)
    """Rate limit of requests to the API server."""
    reconcile_concurrency: Annotated[int, Field(ge=1)] = 10
    """Number of Ray objects of a kind that are reconciled concurrently."""
    feature_gates: dict[Gate, bool] = Field(default_factory=dict)
    """Feature gates; `RayCronJob: true` also installs the CRD of that kind."""
    watch_namespaces: tuple[DnsLabel, ...] = ()
    """Namespaces to watch, which must include all tenants' (none: every namespace)."""
    addon: Addon = Addon()
    """Options of the add-on; with `install: addon` only."""

    @property
    def chart_version(self) -> str:
        """The version of the Helm chart; by default the version that Muster is tested with."""
        return self.version or KUBERAY_VERSION

    @property
    def revision(self) -> str:
        """The version's commit, if this checkout knows it, else its tag, which can be moved."""
        return KUBERAY_COMMITS.get(self.chart_version, f"v{self.chart_version}")
