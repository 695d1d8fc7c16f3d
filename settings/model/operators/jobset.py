"""The JobSet controller: from its Helm chart, or already installed."""

from collections.abc import Mapping
from typing import Literal

from settings.model.base import Model
from settings.model.operators.shared import ApiClient, ChartImage, Release, Replicas, Resources

JOBSET_VERSION = "0.11.0"
# The commits of the versions' tags.
JOBSET_COMMITS: Mapping[str, str] = {JOBSET_VERSION: "f7035a420bb6ebfe7f05494ce2fdff12ade319bf"}
REPOSITORY = "registry.k8s.io/jobset/jobset"


class JobSet(Model):
    """The JobSet controller, which creates the Jobs of JobSets once their queue admits them."""

    install: Literal["none", "helm", "existing"] = "none"
    """`none`: there are no JobSets. `helm`: installs the chart. `existing`: it is already installed."""
    version: Release = JOBSET_VERSION
    """Version of the chart, the CRD and the image."""
    image: ChartImage | None = None
    """Image to use instead of the version's at registry.k8s.io, such as one in your own mirror."""
    replicas: Replicas = 1
    """Replicas; one leads, the others are standbys."""
    resources: Resources = Resources.of("250m", "256Mi", cpu_limit="2", memory_limit="1Gi")
    """Resources of each replica; its use grows with the number of JobSets."""
    client: ApiClient = ApiClient(qps=500, burst=500)
    """Rate limit of requests to the API server."""

    @property
    def chart_image(self) -> str:
        """The image of the controller, with a tag."""
        return self.image or f"{REPOSITORY}:v{self.version}"

    @property
    def revision(self) -> str:
        """The version's commit, if this checkout knows it, else its tag, which can be moved."""
        return JOBSET_COMMITS.get(self.version, f"v{self.version}")
