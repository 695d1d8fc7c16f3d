"""The common part of RayJobs, RayClusters and RayServices: jobs that consist of a Ray cluster."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from muster.cluster.jobs.gang import JobAnnotations, PodSetTemplate
from muster.cluster.jobs.in_place_resize import ANNOTATION as RESIZES
from muster.cluster.jobs.job import GangTemplates, JobView, Operator, Service
from muster.cluster.jobs.job_kind import JobKind, PodGroups
from muster.cluster.jobs.kuberay import is_fault_tolerant
from muster.cluster.jobs.ray_gpus import pod_sets_without_gpus
from muster.cluster.jobs.ray_services import head_service
from muster.cluster.jobs.scaling import Sizes, sizes_of
from muster.objects.derived import Derived
from muster.objects.meta import Object
from muster.objects.ray import KUBERAY_OPERATOR, REDIS_CLEANUP_FINALIZER, RayClusterSpec

T = TypeVar("T", bound=Object)
S = TypeVar("S")

ANNOTATIONS_MAX = 8
"""The most different annotations for which templates of one spec are cached, as users write them."""
KUBERAY = Operator(
    name="KubeRay",
    group="ray.io",
    status_of="rayclusters",
    managed_by=KUBERAY_OPERATOR,
    word="ray",
    noun="Ray object",
)


class TemplatesBySpec(Generic[S]):
    """A cache of the templates of jobs by their spec, and by what their annotations say about the pods.
    `read(spec, annotations)` yields the templates."""

    def __init__(self, read: Callable[[S, JobAnnotations], Iterable[PodSetTemplate]]) -> None:
        self._read = read
        self._of_spec = Derived[S, dict[JobAnnotations, GangTemplates]](lambda spec: {})

    def __call__(self, spec: S, annotations: JobAnnotations) -> GangTemplates:
        cached = self._of_spec(spec)
        if annotations not in cached:
            if len(cached) >= ANNOTATIONS_MAX:
                cached.clear()
            cached[annotations] = GangTemplates(self._read(spec, annotations))
        return cached[annotations]


class RayView(JobView[T]):
    """A job that KubeRay runs."""

    operator = KUBERAY

    @property
    @abstractmethod
    def cluster_spec(self) -> RayClusterSpec:
        """The spec of the Ray cluster."""

    @property
    def sizes(self) -> Sizes:
        return sizes_of(self.cluster_spec)

    @property
    def has_redis_cleanup(self) -> bool:
        """True if KubeRay runs a Redis clean-up Job when the cluster is deleted."""
        return is_fault_tolerant(self.cluster_spec, self.metadata.annotations)

    @property
    def of_annotations(self) -> JobAnnotations:
        """The annotations that change its pods."""
        return JobAnnotations(self.has_redis_cleanup, self.metadata.annotations.get(RESIZES, ""))

    @property
    def cleans_redis_up(self) -> bool:
        meta = self.metadata
        return bool(meta.deletion_timestamp) and REDIS_CLEANUP_FINALIZER in meta.finalizers

    @property
    def pod_sets_without_gpus(self) -> frozenset[str]:
        return pod_sets_without_gpus(self.cluster_spec)

    def services(self) -> Iterator[tuple[str, Service]]:
        head: dict[str, Any] = msgspec.json.decode(self.cluster_spec.head_group_spec.template)
        yield "the head's Service", head_service(self.cluster_spec, head)


def ray_kind(view: type[RayView[Any]], cluster: str, *templates: str, **more: Any) -> JobKind:
    """Declares a kind with a RayClusterSpec at the path `cluster`, and further pod templates."""
    return JobKind(
        view=view,
        templates=(f"{cluster}.headGroupSpec.template", *templates),
        groups=PodGroups(path=f"{cluster}.workerGroupSpecs"),
        ray_cluster=cluster,
        **more,
    )
