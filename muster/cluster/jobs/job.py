"""The interface through which the controller sees jobs of any kind."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from muster.cluster.jobs.gang import PodSetTemplate, pod_sets
from muster.cluster.jobs.scaling import Sizes
from muster.cluster.jobs.templates import is_placed
from muster.kube.kinds import Kind
from muster.kube.writes import Write
from muster.objects.kueue import PodSet, ReclaimablePod
from muster.objects.meta import Condition, Object, ObjectMeta, find_condition
from muster.objects.names import PRIORITY_LABEL, QUEUE_LABEL, STOP_ANNOTATION
from muster.objects.pods import PodTemplate, read_template

T = TypeVar("T", bound=Object)
Service = dict[str, Any]
"""The metadata and the spec of a Service."""


@dataclass(frozen=True, slots=True)
class Operator:
    """The controller that runs the jobs of an API group.

    Its accounts are recognized by their permission to write the status of the resource `status_of` in all
    namespaces, as their names differ between installations. `managed_by` is its name in spec.managedBy;
    `word` is part of policies' names, and `noun` is what messages call one of its objects. `propagation` is
    the API server's policy for deletions of its objects that name none. `label_domains` are those of the
    labels and annotations that it acts on; its API group if empty."""

    name: str
    group: str
    status_of: str
    managed_by: str
    word: str
    noun: str
    propagation: str = "Background"
    label_domains: tuple[str, ...] = ()

    @property
    def label_prefixes(self) -> tuple[str, ...]:
        """The prefixes of labels and annotations that it acts on. Kubernetes' own groups without a domain,
        such as batch, have labels of a domain below kubernetes.io."""
        group = self.group if "." in self.group else f"{self.group}.kubernetes.io"
        return tuple(f"{domain}/" for domain in self.label_domains or (group,))


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """The end of a job, as its operator reports it."""

    succeeded: bool
    message: str


@dataclass(frozen=True, slots=True)
class StatusReason:
    """A reason and a message for a condition, such as why an object can't be stopped or admitted. `reason` is
    one CamelCase word; `message` is a sentence, or continues a sentence about the object."""

    reason: str
    message: str


class GangTemplates:
    """The pod templates of a gang, for all jobs with the same spec."""

    def __init__(self, templates: Iterable[PodSetTemplate]) -> None:
        self.all = tuple(templates)

    @cached_property
    def pod_sets(self) -> tuple[PodSet, ...]:
        """The pod sets of the gang's Workload."""
        return pod_sets(self.all)

    @cached_property
    def placed(self) -> bool:
        """Returns whether a start has added its placement to the templates."""
        return is_placed(self.all)

    @cached_property
    def priority_classes(self) -> tuple[str, ...]:
        """The pods' priority class of each template; empty if it has none."""
        return tuple(read_template(entry.template).spec.priority_class_name for entry in self.all)


class Schedule(NamedTuple):
    """A kind of objects that create jobs on a schedule, such as CronJob, and that users write."""

    group: str
    name: str
    plural: str


class JobView(ABC, Generic[T]):
    """A read-only view of a job, computed from the object and, for some kinds, its dependents.

    `suspend_pointers` are the JSON pointers to the fields that stop and start the job, all with one value:
    true stops it, except for kinds that override `suspension` and `resumption`. The first one exists in all
    versions of the operator; the API server drops the others from objects of a version without them. They are
    set and never removed: KubeRay does not resume a RayCluster whose field was removed."""

    kind: ClassVar[Kind[Any]]
    operator: ClassVar[Operator]
    suspend_pointers: ClassVar[tuple[str, ...]] = ("/spec/suspend",)
    affinity_is_mutable: ClassVar[bool] = True
    """True if the affinity of the pod templates may change while the job is suspended."""
    shrinks: ClassVar[bool] = False
    """True if the operator removes pods of a running job once its user has lowered their number."""
    schedule: ClassVar[Schedule | None] = None
    """The kind whose controller creates jobs of this kind on a schedule; None if there is none."""

    def __init__(self, obj: T, *dependents: "JobView[Any]") -> None:
        """`dependents`: the objects that the operator created for the job; only kinds with
        `reads_dependents` get and keep them."""
        self.obj = obj

    @property
    def metadata(self) -> ObjectMeta:
        """The object's metadata."""
        return self.obj.metadata

    @property
    def managed(self) -> bool:
        """True if Muster manages the job: it is in a queue, not part of another job, and reconciled by its
        operator."""
        return bool(queue_name(self)) and not self.is_part and not self.other_manager

    @property
    def is_part(self) -> bool:
        """True if the job is part of another object, which controls it. A job that was created on a schedule
        is a job of its own, as in Kueue (pkg/controller/jobframework/reconciler.go: only owners that Kueue
        manages have their jobs' quota)."""
        owner = self.metadata.controller
        return owner is not None and (self.schedule is None or (owner.group, owner.kind) != self.schedule[:2])

    @property
    def other_manager(self) -> str:
        """The controller that reconciles the job instead of its operator; empty if there is none."""
        manager = self._managed_by or self.operator.managed_by
        return "" if manager == self.operator.managed_by else manager

    @property
    def _managed_by(self) -> str | None:
        """The job's spec.managedBy."""
        return None

    @property
    def stop_requested(self) -> bool:
        """True if its user has requested to stop the job (annotation STOP_ANNOTATION)."""
        return self.metadata.annotations.get(STOP_ANNOTATION) == "true"

    @property
    def suspension_obstacle(self) -> StatusReason | None:
        """The reason why the operator does not suspend this object, as far as the object itself shows; None
        if nothing prevents it."""
        meta = self.metadata
        if meta.deletion_timestamp:
            finalizers = ", ".join(meta.finalizers) or "none"
            return StatusReason("Finalizers", f"is being deleted, with finalizers {finalizers}")
        if self.other_manager:
            message = (
                f"has spec.managedBy {self.other_manager}, so {self.operator.name} does not reconcile it"
            )
            return StatusReason("ManagedBy", message)
        return None

    @property
    def kuberay_rejection(self) -> StatusReason | None:
        """The reason why the operator rejects the job's spec, so that the job neither runs nor ends and must
        not hold quota. None for a job that keeps running although its spec was rejected."""
        return None

    @property
    def pod_creation_failure(self) -> StatusReason | None:
        """The reason why the operator could not create or delete pods in its last attempt, as far as the
        object itself shows."""
        return None

    @property
    def cleans_redis_up(self) -> bool:
        """Returns whether the job is being deleted, and KubeRay keeps it until it has cleaned Redis up."""
        return False

    def services(self) -> Iterator[tuple[str, Service]]:
        """Yields the Services that the operator creates with the pods and that the API server may refuse,
        each with a description for messages."""
        yield from ()

    @property
    @abstractmethod
    def _templates(self) -> GangTemplates: ...

    @property
    def pod_set_templates(self) -> tuple[PodSetTemplate, ...]:
        """The pod templates of the gang, one for each pod set."""
        return self._templates.all

    @property
    def pod_sets(self) -> tuple[PodSet, ...]:
        """The pod sets of the gang's Workload."""
        return self._templates.pod_sets

    @property
    def sizes(self) -> Sizes:
        """The sizes of the worker groups that Ray's autoscaler scales; empty if it scales none."""
        return {}

    @property
    def placed(self) -> bool:
        """True if the templates contain the placement that a start added."""
        return self._templates.placed

    @property
    def pod_priority_classes(self) -> tuple[str, ...]:
        """The priority class names of the templates, empty for a template without a class."""
        return self._templates.priority_classes

    def pod_labels(self, pod_set: str) -> Mapping[str, str]:
        """Returns labels that a start adds to the template of the pod set."""
        return {}

    @property
    def suspension(self) -> dict[str, Any]:
        """The merge patch that suspends the job."""
        body: dict[str, Any] = {}
        for pointer in self.suspend_pointers:
            *parents, last = pointer.strip("/").split("/")
            parent = body
            for field in parents:
                parent = parent.setdefault(field, {})
            parent[last] = True
        return body

    @property
    def resumption(self) -> Mapping[str, Any]:
        """The values that start the job, by JSON pointer."""
        return dict.fromkeys(self.suspend_pointers, False)

    @property
    @abstractmethod
    def suspended(self) -> bool:
        """True if the job is suspended in its spec."""

    @property
    @abstractmethod
    def reported_stopped(self) -> bool:
        """True if the operator reports the job as stopped: it creates no more pods, but existing pods may
        still be terminating."""

    @property
    def ready_to_start(self) -> bool:
        """False while the operator still keeps objects of the last run that a start would reuse."""
        return True

    def outdated_parts(self, targets: Mapping[str, PodTemplate]) -> Iterator["JobView[Any]"]:
        """Yields objects of the last run that a start with these templates, by pod set, would reuse with
        their old placement. The operator creates them again once they are deleted."""
        yield from ()

    @property
    def status_reset(self) -> Write | None:
        """The write of the status without which the API server refuses changes of a stopped job's templates;
        None if it accepts them."""
        return None

    @property
    def reclaimable_pods(self) -> tuple[ReclaimablePod, ...]:
        """Pods that have ended and are not replaced, whose quota is released before the job ends."""
        return ()

    @property
    def start_observed(self) -> bool:
        """True if the operator has observed the last start. If the job is suspended earlier, its status does
        not show whether the operator will still create pods for that start."""
        return True

    @property
    def retrying(self) -> bool:
        """True if the operator replaces the pods of a failed attempt, and creates the next ones while the old
        ones may still be terminating."""
        return False

    @property
    def pod_sets_without_gpus(self) -> frozenset[str]:
        """Pod sets whose pods start Ray without GPUs, unless something sets their number."""
        return frozenset()

    @property
    def suspended_and_stopped(self) -> bool:
        """True if the job is suspended and has stopped."""
        return self.suspended and self.reported_stopped

    @property
    def halted(self) -> bool:
        """True if the job is suspended in its spec or has ended."""
        return self.suspended or self.outcome is not None

    @property
    def has_stopped(self) -> bool:
        """True if the job has ended, or is suspended and has stopped."""
        return self.suspended_and_stopped or self.outcome is not None

    @property
    @abstractmethod
    def running(self) -> bool:
        """True if the operator reports that the job runs."""

    @property
    def reports_running(self) -> bool:
        """Like `running`, from the object alone."""
        return self.running

    @property
    @abstractmethod
    def outcome(self) -> JobOutcome | None:
        """The end of the job; None if it has not ended."""

    @property
    @abstractmethod
    def ineligibility(self) -> str | None:
        """The reason why the job can't be admitted with this spec; None if it can."""


Job = JobView[Any]


def outcome_of(conditions: Iterable[Condition], success: str, failure: str, noun: str) -> JobOutcome | None:
    """Returns the end of a job by its terminal conditions; None if neither is true."""
    for kind in (success, failure):
        end = find_condition(conditions, kind)
        if end is not None and end.status == "True":
            return JobOutcome(kind == success, end.message or f"{noun} {kind.lower()}")
    return None


def queue_name(job: Job) -> str:
    """Returns the LocalQueue that the job names; empty if it names none."""
    return job.metadata.labels.get(QUEUE_LABEL, "")


def priority_class(job: Job) -> str:
    """Returns the WorkloadPriorityClass that the job names; empty if it names none."""
    return job.metadata.labels.get(PRIORITY_LABEL, "")
