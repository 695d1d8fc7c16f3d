"""The view of a job that admission needs, whatever its kind."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

from muster.controller.jobs.annotations import STOP
from muster.controller.jobs.gang import PodSetTemplate, pod_sets
from muster.controller.jobs.kuberay import is_fault_tolerant
from muster.controller.jobs.templates import is_placed
from muster.kube.kinds import Kind
from muster.objects.derived import Derived
from muster.objects.kueue import PRIORITY_LABEL, QUEUE_LABEL, PodSet
from muster.objects.meta import Object, ObjectMeta
from muster.objects.pods import read_template
from muster.objects.ray import KUBERAY_OPERATOR, REDIS_CLEANUP_FINALIZER, RayClusterSpec

T = TypeVar("T", bound=Object)
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Outcome:
    succeeded: bool
    message: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something can't be done: `reason` is one word for a condition or a metric; `message` is a sentence
    or continues one about the object."""

    reason: str
    message: str


class GangTemplates:
    """The pod templates of a gang, for all jobs with the same spec."""

    def __init__(self, templates: Iterable[PodSetTemplate]) -> None:
        self.all = tuple(templates)

    @cached_property
    def pod_sets(self) -> tuple[PodSet, ...]:
        return pod_sets(self.all)

    @cached_property
    def placed(self) -> bool:
        return is_placed(self.all)

    @cached_property
    def priority_classes(self) -> tuple[str, ...]:
        return tuple(read_template(entry.template).spec.priority_class_name for entry in self.all)


class TemplatesBySpec(Generic[S]):
    """Caches the templates of jobs by their spec, separately for jobs with a Redis clean-up, which an
    annotation may request. `read(spec, redis_cleanup)` yields them."""

    def __init__(self, read: Callable[[S, bool], Iterable[PodSetTemplate]]) -> None:
        self._without_cleanup = Derived[S, GangTemplates](lambda spec: GangTemplates(read(spec, False)))
        self._with_cleanup = Derived[S, GangTemplates](lambda spec: GangTemplates(read(spec, True)))

    def __call__(self, spec: S, *, redis_cleanup: bool) -> GangTemplates:
        return self._with_cleanup(spec) if redis_cleanup else self._without_cleanup(spec)


class JobView(ABC, Generic[T]):
    """A view of one job object, computed from the object alone.

    `suspend_pointer` leads to the field that stops and starts it: always true or false, never removed, as
    KubeRay leaves a RayCluster without the field suspended."""

    kind: ClassVar[Kind[Any]]
    suspend_pointer: ClassVar[str] = "/spec/suspend"

    def __init__(self, obj: T) -> None:
        self.obj = obj

    @property
    def metadata(self) -> ObjectMeta:
        return self.obj.metadata

    @property
    def managed(self) -> bool:
        """Whether Muster manages it: in a queue, not part of another job, reconciled by the stock
        operator."""
        queued = bool(queue_name(self)) and self.metadata.controller is None
        return queued and self._managed_by == KUBERAY_OPERATOR

    @property
    def stop_requested(self) -> bool:
        """Whether its user has stopped it."""
        return self.metadata.annotations.get(STOP) == "true"

    @property
    def suspension_obstacle(self) -> Problem | None:
        """Why KubeRay does not carry out a suspension of this object, as far as the object shows."""
        meta = self.metadata
        if meta.deletion_timestamp:
            held = ", ".join(meta.finalizers) or "none"
            return Problem("Finalizers", f"is being deleted and keeps the finalizers {held}")
        if self._managed_by != KUBERAY_OPERATOR:
            return Problem("ManagedBy", f"has spec.managedBy {self._managed_by}, which KubeRay leaves alone")
        return None

    @property
    def kuberay_rejection(self) -> Problem | None:
        """Why KubeRay rejects the job's spec, so that it neither runs nor ends: it must not hold quota. None
        for one that KubeRay rejects while it runs and serves."""
        return None

    @property
    @abstractmethod
    def _managed_by(self) -> str: ...

    @property
    @abstractmethod
    def cluster_spec(self) -> RayClusterSpec: ...

    @property
    def has_redis_cleanup(self) -> bool:
        """Whether KubeRay runs a Job that cleans Redis up when the cluster is deleted."""
        return is_fault_tolerant(self.cluster_spec, self.metadata.annotations)

    @property
    def cleans_redis_up(self) -> bool:
        """Whether it is being deleted, and KubeRay keeps it until that Job has ended."""
        meta = self.metadata
        return bool(meta.deletion_timestamp) and REDIS_CLEANUP_FINALIZER in meta.finalizers

    @property
    def serve_service(self) -> Mapping[str, Any] | None:
        """The Service that the user has defined for Ray Serve, if any."""
        return None

    @property
    @abstractmethod
    def _templates(self) -> GangTemplates: ...

    @property
    def pod_set_templates(self) -> tuple[PodSetTemplate, ...]:
        return self._templates.all

    @property
    def pod_sets(self) -> tuple[PodSet, ...]:
        return self._templates.pod_sets

    @property
    def placed(self) -> bool:
        """Whether the templates carry what a start added to them."""
        return self._templates.placed

    @property
    def pod_priority_classes(self) -> tuple[str, ...]:
        """The classes that the templates name, empty for a template without one."""
        return self._templates.priority_classes

    @property
    @abstractmethod
    def suspended(self) -> bool:
        """Whether its spec asks for suspension."""

    @property
    @abstractmethod
    def reported_stopped(self) -> bool:
        """Whether its operator reports it as stopped: it creates no more pods, but existing ones may still
        terminate."""

    @property
    def start_observed(self) -> bool:
        """Whether its operator has acted on its last start. If it is suspended before that, nothing shows
        whether the operator still will."""
        return True

    @property
    @abstractmethod
    def running(self) -> bool: ...

    @property
    @abstractmethod
    def outcome(self) -> Outcome | None: ...

    @property
    @abstractmethod
    def ineligibility(self) -> str | None:
        """Why it can't be admitted with this spec; None if it can."""


Job = JobView[Any]


def queue_name(job: Job) -> str:
    return job.metadata.labels.get(QUEUE_LABEL, "")


def priority_class(job: Job) -> str:
    return job.metadata.labels.get(PRIORITY_LABEL, "")
