"""Settings of Muster's controller, which engine `muster` deploys: its image, replicas and rules."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.model.base import DnsLabel, DnsSubdomain, Model, refuse
from settings.model.journal import Journal
from settings.model.observability import COLLECTOR_NAMESPACES
from settings.model.operators.kueue import FairSharing, Retention, WaitForPodsReady
from settings.model.operators.shared import PinnedImage, Replicas, Resources
from settings.model.signature import Signature

# BuildKit's own scanner; the digest is that of the multi-platform index of release 1.12.0, 2026.
SBOM_GENERATOR = (
    "docker.io/docker/buildkit-syft-scanner:1.12.0"
    "@sha256:ae4f3b554449e7e25548e7d8ccc029d17357348e30c6e3df01b92bc93654d6a9"
)


class Build(Model):
    """Builds the image from this checkout and pushes it to a registry that the stack creates."""

    repository: DnsLabel | None = None
    """Name of the repository in Artifact Registry, which no other stack of the project may have;
    `<cluster>-muster` if unset."""
    keep_images: Annotated[int, Field(ge=1)] = 10
    """Number of the newest images to keep for rollbacks, regardless of their age."""
    core: Literal["compiled", "interpreted"] = "compiled"
    """`compiled`: mypyc compiles the admission core, which decides the same in half the time. The build takes
    three minutes longer, and installs Debian's C compiler, which the image does not contain."""
    sbom_generator: PinnedImage = SBOM_GENERATOR
    """The image that lists the packages of the controller's image during the build (BuildKit, SBOM
    attestations); set it to use your own mirror."""
    signature: Signature | None = None
    """Signs the image; it is unsigned if unset."""

    def registry(self, cluster: str) -> str:
        """Returns the registry's name, which no other stack has: its images would count among the newest
        ones."""
        return self.repository or f"{cluster}-muster"

    def image(self, project: str, region: str, cluster: str) -> str:
        """Returns the image's name, without a tag."""
        return f"{region}-docker.pkg.dev/{project}/{self.registry(cluster)}/controller"


# The feature gates of Kueue that Muster implements (muster/configuration/feature_gates.py).
Gate = Literal[
    "CleanupProvisioningRequestsOnEviction",
    "FairSharingPreemptWithinNominal",
    "FairSharingPrioritizeNonBorrowing",
    "FlavorFungibilityPreserveScanProgress",
    "PartialAdmission",
    "PrioritizePreemptorWorkloads",
    "PriorityBoost",
    "PrioritySortingWithinCohort",
    "ReclaimablePods",
    "RecomputeAssignmentUponPreemptionTargetsOverlap",
    "SchedulerTimestampPreemptionBuffer",
    "SkipReassignmentForPodOwnedWorkloads",
    "TASBalancedPlacement",
    "TASFailedNodeReplacementFailFast",
    "TASProfileMixed",
    "TASRecomputeAssignmentWithinSchedulingCycle",
    "TASRespectNodeAffinityPreferred",
    "TopologyAwareScheduling",
]


class Aging(Model):
    """Raises the priority of waiting workloads, within their queue and across queues. Aging does not let a
    workload preempt more than its own priority allows."""

    step: Annotated[int, Field(ge=1)]
    """Priority added for every full period that a workload waits."""
    period_seconds: Annotated[int, Field(ge=1)]
    """Length of a period, in seconds."""
    max: Annotated[int, Field(ge=1)]
    """Upper bound of the added priority; at least one `step`."""

    @model_validator(mode="after")
    def _bound_allows_a_step(self) -> Self:
        if self.max < self.step:
            refuse(f"max of at least step, which is {self.step}", "raise `max` or lower `step`")
        return self


class OwnRules(Model):
    """Rules that Muster has and Kueue does not; all are off by default."""

    immediate_unparking: bool = False
    """Retries gangs that did not fit together with newly queued ones; by default, as in Kueue, after them."""
    backfill: bool = False
    """EASY backfill: admits small gangs with a declared run time (`kueue.x-k8s.io/max-exec-time-seconds`)
    ahead of a large gang that waits for quota, if that does not delay the large one."""
    minimum_run_seconds: Annotated[int, Field(ge=1)] | None = None
    """Minimum run time, in seconds, before a gang may be preempted."""
    aging: Aging | None = None
    """Priority aging; off if unset."""


class Page(Model):
    """The page of `muster serve` next to the controller: a pod that may only read, reached by
    `kubectl -n muster-system port-forward svc/muster-page 8090:80`. It has no login: let a gateway
    authenticate its users."""

    host_names: tuple[DnsSubdomain, ...] = ()
    """Names by which browsers reach it through a gateway; requests for others than these and localhost are
    refused."""
    namespaces: tuple[DnsLabel, ...] = ()
    """Namespaces whose pods, such as a gateway's, may connect to it; none by default, which leaves
    `kubectl port-forward`."""
    resources: Resources = Resources.of("50m", "256Mi", cpu_limit="1", memory_limit="1Gi")
    """Resources of its pod; memory use grows with the number of Workloads."""


class Controller(Model):
    """Muster's controller. Set either `image` or `build`."""

    image: PinnedImage | None = None
    """An existing image, pinned by digest or tag."""
    build: Build | None = None
    """Builds the image from this checkout; GKE only. `{}` uses the defaults."""
    replicas: Replicas = 2
    """One replica leads, the others take over if it fails. With two or more, a PodDisruptionBudget keeps one
    running while nodes are drained."""
    resources: Resources = Resources.of("100m", "256Mi", cpu_limit="1", memory_limit="512Mi")
    """Resources of each replica; memory use grows with the number of Workloads."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Log level, from most to least verbose."""
    wait_for_pods_ready: WaitForPodsReady | None = None
    """Evicts gangs whose pods are not ready in time. If unset, a gang keeps its quota however long its pods
    take to start."""
    fair_sharing: FairSharing | None = None
    """Enables fair sharing, which queues' `weight` requires; off if unset."""
    retention: Retention = Retention()
    """Retention of workloads after their end."""
    feature_gates: dict[Gate, bool] = Field(default_factory=dict)
    """Feature gates by Kueue's names; those left out have Kueue's default."""
    rules: OwnRules = OwnRules()
    """Rules that differ from Kueue's; by default the controller decides as Kueue does."""
    journal: Journal | None = None
    """Keeps a journal of workloads; none is kept if unset."""
    eta: bool = True
    """Writes on pending jobs when they are expected to start (annotation `muster.dev/eta`), and on autoscaled
    jobs when they are expected to grow (`muster.dev/growth-eta`); takes at most 5% of a core on average."""
    page: Page | None = None
    """A page of queues and workloads, next to the controller; none if unset. `{}` uses the defaults."""
    metrics_from: tuple[DnsLabel, ...] = COLLECTOR_NAMESPACES
    """Namespaces whose pods may scrape /metrics; by default the namespaces of Google Cloud Managed Service
    for Prometheus."""

    @model_validator(mode="after")
    def _image_or_build(self) -> Self:
        if (self.image is None) == (self.build is None):
            refuse(
                "either image or build", "set `image`, or write `build: {}` to build it from this checkout"
            )
        sharing = [gate for gate in self.feature_gates if gate.startswith("FairSharing")]
        if sharing and self.fair_sharing is None:
            refuse(f"fairSharing: {sharing[0]} has no effect without it", "add `fairSharing: {}`")
        return self
