"""Kueue: its API, which engine `muster` implements too, and the configuration of its controller."""

from typing import Annotated, Literal, Self, cast, get_args

from pydantic import AfterValidator, Field, model_validator

from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.kinds import JOB_KINDS
from settings.model.base import Model, Quantity, ResourceName, refuse, refuse_bound_below_base
from settings.model.operators.shared import (
    ApiClient,
    ChartImage,
    FeatureGate,
    Release,
    Replicas,
    Resources,
    release_numbers,
)
from settings.model.pools.values import LabelKey, LabelValue

KUEUE_VERSION = "0.19.2"  # with its feature gates in `kueue_gates.py`
ELASTIC_BY_DEFAULT = (0, 18, 0)  # pkg/features/kube_features.go: ElasticJobsViaWorkloadSlices
KUEUE_COMMIT = "8eab68778fc1b52affe165fdf5af29d1e9b4f3cb"  # of this version's tag

# The integrations of KUEUE_VERSION (apis/config/v1beta2, Integrations).
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
INTEGRATED: tuple[JobKind, ...] = tuple(
    kind for kind in JOB_KINDS if kind.framework in get_args(Framework) and not kind.count_annotation
)
"""Kinds of jobs that both Muster and Kueue start and stop by the field that suspends them."""
DEFAULT_FRAMEWORKS: tuple[Framework, ...] = tuple(cast(Framework, kind.framework) for kind in INTEGRATED)
Seconds = Annotated[int, Field(ge=1)]
Kept = Annotated[int, Field(ge=0)]  # in seconds
Share = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]


class Requeuing(Model):
    """Kueue's RequeuingStrategy, with Kueue's defaults."""

    timestamp: Literal["Eviction", "Creation"] = "Eviction"
    """The time that orders a requeued workload in its queue: of its eviction or of its creation."""
    limit: Annotated[int, Field(ge=0)] | None = None
    """Retries before the workload is deactivated; unlimited if unset."""
    base_seconds: Seconds = 60
    """Backoff of the first retry; it doubles with each further one."""
    max_seconds: Seconds = 3600
    """Upper bound of the backoff; at least `baseSeconds`."""

    @model_validator(mode="after")
    def _bound_is_above_the_base(self) -> Self:
        refuse_bound_below_base(self.base_seconds, self.max_seconds)
        return self


class WaitForPodsReady(Model):
    """Evicts a gang that does not become ready in time (Kueue, "All-or-nothing with ready Pods")."""

    timeout_seconds: Seconds
    """Time in which all pods of an admitted gang must become ready."""
    recovery_timeout_seconds: Seconds | None = None
    """Time in which a failed pod of a running gang must be ready again; `timeoutSeconds` if unset."""
    block_admission: bool = False
    """Admits no other workload until the pods of the last admitted one are ready."""
    requeuing: Requeuing = Requeuing()
    """Requeuing of evicted gangs."""


class FairSharing(Model):
    """Preemption by share of the cohort's quota instead of priority; queues' `weight` scales the shares."""

    preemption_strategies: Annotated[tuple[Share, ...], Field(min_length=1)] = (
        "LessThanOrEqualToFinalShare",
        "LessThanInitialShare",
    )
    """Constraints on a preemption, in the order in which they are tried (Kueue:
    fairSharing.preemptionStrategies)."""


class AdmissionFairSharing(Model):
    """Order of a queue's workloads by the recent usage of their LocalQueues, for cluster queues with
    `admissionFairSharing` (Kueue, "Admission Fair Sharing")."""

    usage_half_life_seconds: Annotated[int, Field(ge=0)]
    """Time after which a past usage counts half; with 0 only the present one counts."""
    usage_sampling_seconds: Seconds = 300
    """Time between two samples of the usage."""
    resource_weights: dict[ResourceName, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    """Weight of a unit of a resource, a core of CPU or a byte of memory; 1 if unset."""


class Retention(Model):
    """Retention of workloads after their end (Kueue: objectRetentionPolicies.workloads)."""

    after_finished_seconds: Kept | None = None
    """Time from the end of a workload until it is deleted, its job excepted; deleted with its job if
    unset."""
    after_deactivated_seconds: Kept | None = None
    """Time from the deactivation of a workload by its engine, as after its last retry, until its *job* is
    deleted; never if unset."""


class Transformation(Model):
    """Counts a resource that pods request as others (Kueue: resources.transformations)."""

    input: ResourceName
    """The requested resource."""
    strategy: Literal["Retain", "Replace"] = "Retain"
    """`Retain` counts the requested resource in addition to the outputs."""
    multiply_by: ResourceName | None = None
    """Another requested resource, whose amount multiplies the input's."""
    outputs: dict[ResourceName, Quantity] = Field(default_factory=dict)
    """Amounts that are counted for each unit of the input; with Replace and without outputs the input is not
    counted at all."""


def _without_the_systems(labels: dict[str, str]) -> dict[str, str]:
    name = labels.get("kubernetes.io/metadata.name")
    if name in ("kube-system", "kueue-system"):
        refuse(
            f"labels of other namespaces than {name}, with which Kueue does not start (Kueue: pkg/config, "
            "validateNamespaceSelector)",
            "write the label of the tenants' namespaces, muster.dev/tenant: true",
        )
    return labels


class Kueue(Model):
    """Kueue's API, and with engine `kueue` its controller."""

    install: Literal["upstream", "existing"] = "upstream"
    """`upstream`: installs only the CRDs with engine muster, the chart with CRDs and controller with engine
    kueue, nothing with engine kai. `existing`: it is already installed."""
    version: Release = KUEUE_VERSION
    """Version of the CRDs or chart. All keys below are used by engine kueue only, and refused with others."""
    image: ChartImage | None = None
    """Image to use instead of the chart's, such as one in your own mirror."""
    replicas: Replicas = 2
    """Replicas; two by default, because no job can be created while no webhook responds."""
    resources: Resources = Resources.of("500m", "512Mi", cpu_limit="2", memory_limit="2Gi")
    """Resources of each replica; its use grows with the number of Workloads."""
    client: ApiClient = ApiClient(qps=300, burst=500)
    """Rate limit of requests to the API server."""
    frameworks: Annotated[tuple[Framework, ...], Field(min_length=1)] = DEFAULT_FRAMEWORKS
    """Kinds of jobs that Kueue manages. RayJobs, RayClusters, Jobs and JobSets are required, because they are
    suspended at creation. Kueue's own default adds Pods, Deployments and StatefulSets, which then pass its
    webhooks."""
    wait_for_pods_ready: WaitForPodsReady | None = None
    """Evicts gangs whose pods are not ready in time; off if unset."""
    fair_sharing: FairSharing | None = None
    """Enables fair sharing, which queues' `weight` requires; off if unset."""
    admission_fair_sharing: AdmissionFairSharing | None = None
    """Shares a cluster queue between its LocalQueues by usage; off if unset."""
    retention: Retention = Retention()
    """Retention of workloads after their end."""
    exclude_resource_prefixes: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Prefixes of resource names that are not counted against quota."""
    transformations: tuple[Transformation, ...] = ()
    """Resources that are counted as others, such as MIG partitions as memory of GPUs."""
    managed_namespaces: Annotated[dict[LabelKey, LabelValue], AfterValidator(_without_the_systems)] = Field(
        default_factory=dict
    )
    """Labels of the namespaces whose Pods, Deployments and StatefulSets Kueue manages; if unset, of all
    namespaces. Jobs with a queue's label are managed everywhere."""
    feature_gates: dict[FeatureGate, bool] = Field(default_factory=dict)
    """Kueue's feature gates by name; with the default version, unknown gates are refused."""

    @property
    def elastic_jobs(self) -> bool:
        """Whether Kueue admits Ray objects that Ray's autoscaler scales."""
        by_default = release_numbers(self.version) >= ELASTIC_BY_DEFAULT
        return self.feature_gates.get("ElasticJobsViaWorkloadSlices", by_default)

    @property
    def revision(self) -> str:
        """The version's commit, if this checkout knows it, else its tag, which can be moved."""
        return KUEUE_COMMIT if self.version == KUEUE_VERSION else f"v{self.version}"
