"""The LeaderWorkerSet controller: from its Helm chart, or already installed."""

from collections.abc import Mapping
from typing import Literal

from settings.model.base import Model
from settings.model.operators.shared import ChartImage, Release, Replicas, Resources

LWS_VERSION = "0.8.0"
# The commits of the versions' tags.
LWS_COMMITS: Mapping[str, str] = {LWS_VERSION: "fc19b9ae9b0113d228ba15f4b62b06bea434b510"}
REPOSITORY = "registry.k8s.io/lws/lws"


class LeaderWorkerSet(Model):
    """The LeaderWorkerSet controller, which creates the pods of LeaderWorkerSets once their queue admits
    them."""

    install: Literal["none", "helm", "existing"] = "none"
    """`none`: there are no LeaderWorkerSets. `helm`: installs the chart. `existing`: it is already
    installed."""
    version: Release = LWS_VERSION
    """Version of the chart, the CRD and the image."""
    image: ChartImage | None = None
    """Image to use instead of the version's at registry.k8s.io, such as one in your own mirror."""
    replicas: Replicas = 1
    """Replicas; one leads, the others are standbys."""
    resources: Resources = Resources.of("250m", "256Mi", cpu_limit="2", memory_limit="1Gi")
    """Resources of each replica; its use grows with the number of LeaderWorkerSets and their pods."""

    @property
    def chart_image(self) -> str:
        """The image of the controller, with a tag."""
        return self.image or f"{REPOSITORY}:v{self.version}"

    @property
    def revision(self) -> str:
        """The version's commit, if this checkout knows it, else its tag, which can be moved."""
        return LWS_COMMITS.get(self.version, f"v{self.version}")
