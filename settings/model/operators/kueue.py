"""Kueue: its API, which engine `muster` speaks too, and the configuration of its controller."""

from typing import Annotated, Literal

from pydantic import Field

from settings.model.base import Model
from settings.model.operators.shared import ApiClient, ChartImage, FeatureGate, Release, Replicas, Resources

KUEUE_VERSION = "0.19.2"

# Those of KUEUE_VERSION (apis/config/v1beta2, Integrations).
Framework = Literal[
    "batch/job",
    "deployment",
    "jobset.x-k8s.io/jobset",
    "kubeflow.org/jaxjob",
    "kubeflow.org/mpijob",
    "kubeflow.org/paddlejob",
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "kubeflow.org/xgboostjob",
    "leaderworkerset.x-k8s.io/leaderworkerset",
    "pod",
    "ray.io/raycluster",
    "ray.io/rayjob",
    "ray.io/rayservice",
    "sparkoperator.k8s.io/sparkapplication",
    "statefulset",
    "trainer.kubeflow.org/trainjob",
    "workload.codeflare.dev/appwrapper",
]
Seconds = Annotated[int, Field(ge=1)]
Share = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]


class Requeuing(Model):
    """Kueue's RequeuingStrategy, with Kueue's defaults."""

    timestamp: Literal["Eviction", "Creation"] = "Eviction"
    """What orders it in the queue again: when it was sent away, or when it was made."""
    limit: Annotated[int, Field(ge=0)] | None = None
    """How often it is tried again before it is deactivated; left out: for ever."""
    base_seconds: Seconds = 60
    """How long the first retry waits; each further one waits twice as long."""
    max_seconds: Seconds = 3600
    """The longest that one waits."""


class WaitForPodsReady(Model):
    """Evicts a gang that does not become ready in time (Kueue, "All-or-nothing with ready Pods")."""

    timeout_seconds: Seconds
    """How long the pods of an admitted gang may take to be ready."""
    recovery_timeout_seconds: Seconds | None = None
    """How long a running gang may miss a pod; `timeoutSeconds` unless given."""
    block_admission: bool = False
    """Admit nothing else until the pods of what was admitted last are ready."""
    requeuing: Requeuing = Requeuing()
    """What becomes of a gang that was sent away."""


class FairSharing(Model):
    """Preemption by share of the cohort, in place of by priority; it reads the queues' weights."""

    preemption_strategies: Annotated[tuple[Share, ...], Field(min_length=1)] = (
        "LessThanOrEqualToFinalShare",
        "LessThanInitialShare",
    )
    """What a preemption has to keep to (Kueue: fairSharing.preemptionStrategies), in the order in which they
    are tried."""


class Kueue(Model):
    """Kueue's API, with engine `kueue` its controller too, by the values of its chart."""

    install: Literal["upstream", "existing"] = "upstream"
    """`upstream`: the CRDs alone with engine muster, the chart with CRDs and controller with engine kueue,
    nothing with engine kai; `existing`: it is there already."""
    version: Release = KUEUE_VERSION
    """Of CRDs or chart; all other keys are read with engine kueue only, and refused with others."""
    image: ChartImage | None = None
    """Another than the chart's, such as your mirror's."""
    replicas: Replicas = 2
    """Two, for its webhooks: while none answers, no job can be created."""
    resources: Resources = Resources.of("500m", "512Mi", cpu_limit="2", memory_limit="2Gi")
    """Of each replica; they grow with the number of Workloads."""
    client: ApiClient = ApiClient(qps=300, burst=500)
    """How fast it may talk to the API server."""
    frameworks: Annotated[tuple[Framework, ...], Field(min_length=1)] = (
        "batch/job",
        "ray.io/rayjob",
        "ray.io/raycluster",
        "ray.io/rayservice",
    )
    """Kinds of jobs that it queues: RayJobs and RayClusters always, as they are suspended at creation.
    Kueue's own list has Pods, Deployments and StatefulSets too, which it would watch by webhooks."""
    wait_for_pods_ready: WaitForPodsReady | None = None
    """Off unless given."""
    fair_sharing: FairSharing | None = None
    """Off unless given; without it no queue may have a `weight`."""
    exclude_resource_prefixes: tuple[str, ...] = ()
    """Resources whose names begin so are not counted."""
    feature_gates: dict[FeatureGate, bool] = Field(default_factory=dict)
    """Kueue's, by name, on or off."""
