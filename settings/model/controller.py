"""Muster's controller, deployed with engine `muster`: which image, how many, how large."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.model.base import DnsLabel, Model, refuse
from settings.model.observability import COLLECTOR_NAMESPACES
from settings.model.operators.kueue import FairSharing, WaitForPodsReady
from settings.model.operators.shared import PinnedImage, Replicas, Resources


class Build(Model):
    """The image is built from this checkout, and pushed to a registry that the stack makes."""

    repository: DnsLabel = "muster"
    """The repository's name in Artifact Registry."""
    keep_images: Annotated[int, Field(ge=1)] = 10
    """How many images stay there, newest first, however old: to go back to."""


# Those of Kueue's gates that switch a rule of Muster's (muster/controller/feature_gates.py).
Gate = Literal[
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
    """Who waits rises in priority, in its queue and among the queues; whom it may preempt stays as it was."""

    step: Annotated[int, Field(ge=1)]
    """By how much the priority rises for every full period waited."""
    period_seconds: Annotated[int, Field(ge=1)]
    """How long a period is."""
    max: Annotated[int, Field(ge=1)]
    """The most that it rises by."""


class OwnRules(Model):
    """What Muster can do and Kueue does not: each is off unless it is named."""

    immediate_unparking: bool = False
    """Gangs that found no room are tried along with all others after a change, and not a moment later."""
    backfill: bool = False
    """Small gangs with a declared run time (`kueue.x-k8s.io/max-exec-time-seconds`) may go before a large
    one that waits for room, if that does not delay it (EASY)."""
    minimum_run_seconds: Annotated[int, Field(ge=1)] | None = None
    """A gang that runs for less is not preempted."""
    aging: Aging | None = None
    """Off unless given."""


class Controller(Model):
    """Muster's controller; one of `image` and `build` says what runs."""

    image: PinnedImage | None = None
    """An image that is there already, pinned by digest or tag."""
    build: Build | None = None
    """Builds the image from this checkout, on GKE only; `{}` is enough."""
    replicas: Replicas = 2
    """One leads, the others stand by and take over; from two on, one is kept up while nodes are drained."""
    resources: Resources = Resources.of("100m", "256Mi", cpu_limit="1", memory_limit="512Mi")
    """Of each replica; memory grows with the number of Workloads."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """From the most to the least that it says."""
    wait_for_pods_ready: WaitForPodsReady | None = None
    """Off unless given: gangs then may take any time to start, and keep their quota."""
    fair_sharing: FairSharing | None = None
    """Off unless given; without it no queue may have a `weight`."""
    feature_gates: dict[Gate, bool] = Field(default_factory=dict)
    """Kueue's feature gates, as its Configuration has them; left out: Kueue's default."""
    rules: OwnRules = OwnRules()
    """Kueue's decisions are the default; these depart from them."""
    metrics_from: tuple[DnsLabel, ...] = COLLECTOR_NAMESPACES
    """The namespaces whose pods may scrape /metrics: by default those of Google's managed Prometheus."""

    @model_validator(mode="after")
    def _image_or_build(self) -> Self:
        if (self.image is None) == (self.build is None):
            refuse("either image or build", "name the image to run, or write `build: {}` to have it built")
        sharing = [gate for gate in self.feature_gates if gate.startswith("FairSharing")]
        if sharing and self.fair_sharing is None:
            refuse(
                f"fairSharing beside {sharing[0]}, which says how shares are weighed", "add `fairSharing: {}`"
            )
        return self
