"""The declaration of a kind of job: the facts that the rest of Muster derives its treatment from."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from muster.cluster.jobs.job import JobView, Operator, Schedule
from muster.cluster.jobs.scaling import REPLICAS_MAX
from muster.kube.kinds import Kind

PodSetOf = Callable[[Mapping[str, str], str], str | None]
"""Returns the pod set of a pod from its labels and the name of its creator; None if the operator does not
recognize the pod, and would create another."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PodGroups:
    """A list of groups of pods in a job, each with a name and a pod template. Paths except `path` begin at
    the group. The defaults are those of worker groups."""

    path: str
    """The list, from the object's root."""
    noun: str = "worker group"
    name: str = "groupName"
    template: str = "template"
    sizes: Mapping[str, int] = field(
        default_factory=lambda: {
            "replicas": 0,
            "minReplicas": 0,
            "maxReplicas": REPLICAS_MAX,
            "numOfHosts": 1,
        }
    )
    """Counts of pods, with their defaults. They must not grow while the job is queued."""
    frozen: tuple[str, ...] = ()
    """Further fields that must not change while the job is queued."""


class PodController(NamedTuple):
    """A kind of Kubernetes' own that controls pods."""

    group: str
    name: str
    plural: str


@dataclass(frozen=True, eq=False, kw_only=True)
class JobKind:
    """A kind of job. Paths are dotted and begin at the object's root.

    Watches, relations, RBAC, admission policies, the doctor, the page and the command line follow from it, so
    that a further kind needs only its module and an entry in kinds.py."""

    view: type[JobView[Any]]
    templates: tuple[str, ...] = ()
    """Pod templates at fixed paths."""
    groups: PodGroups | None = None
    """Groups of pods, each with a template; None if there are none."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Counts of pods, with their defaults. They must not grow while the job is queued."""
    frozen: tuple[str, ...] = ()
    """Further fields that must not change while the job is queued."""
    rules: Mapping[str, str] = field(default_factory=dict)
    """Further rules for queued objects: CEL that must be true, and the message of a refusal."""
    ray_cluster: str = ""
    """The RayClusterSpec; empty for jobs other than Ray's."""
    created_by: tuple[Kind[Any], ...] = ()
    """Kinds of jobs for which operators create objects of this kind: they mark these with `origin_label`,
    whose value is the kind or the UID of the job."""
    origin_label: str = ""
    reserved_labels: tuple[str, ...] = ()
    """Labels by which operators recognize the objects of this kind that they created, `origin_label` among
    them. Users cannot set them."""
    used_by: tuple[Operator, ...] = ()
    """Operators of other kinds that create objects of this kind as parts of their own jobs."""
    resets_status: bool = False
    """Whether a stop resets a field of its status (JobView.status_reset)."""
    reads_dependents: bool = False
    """Whether the view reads the objects that the operator created for the job."""
    replaces_parts: bool = False
    """Whether a start may delete parts of the last run (JobView.outdated_parts)."""
    claim_templates: str = ""
    """Templates of PersistentVolumeClaims that the operator creates; empty if it creates none."""
    optional: bool = False
    """Whether clusters may lack the kind's CustomResourceDefinition."""
    count_annotation: str = ""
    """The annotation with the number of groups that a job starts with, if `suspend` is a number of groups,
    which suspends the job while it is 0. Empty for kinds whose `suspend` is true or false."""
    pod_set_of: PodSetOf | None = None
    """None if no pod is controlled by an object of this kind."""
    pod_controller: PodController | None = None
    """The kind of the objects, which are no jobs, that the operator creates for the pods; None if objects of
    this kind control them."""
    objects_max: int = 5000
    """Default bound of such objects in a tenant's namespace, including finished and suspended ones."""
    endless: bool = False
    """Whether such a job ends only when it is deleted."""

    def __repr__(self) -> str:
        return self.kind.name

    @property
    def kind(self) -> Kind[Any]:
        """The kind in the API."""
        return self.view.kind

    @property
    def name(self) -> str:
        """The name of the kind, such as RayJob."""
        return self.kind.name

    @property
    def plural(self) -> str:
        """The name of the resource, such as rayjobs."""
        return self.kind.plural

    @property
    def framework(self) -> str:
        """The name of the kind's integration in Kueue's Configuration, such as ray.io/rayjob."""
        return f"{self.kind.group}/{self.kind.name.lower()}"

    @property
    def operator(self) -> Operator:
        """The controller that runs jobs of this kind."""
        return self.view.operator

    @property
    def schedule(self) -> Schedule | None:
        """The kind whose controller creates jobs of this kind on a schedule; None if there is none."""
        return self.view.schedule

    @property
    def suspend(self) -> str:
        """The path of the field that stops the job's pods in all versions of the operator."""
        return self.suspends[0]

    @property
    def suspends(self) -> tuple[str, ...]:
        """The paths of all fields that stop the job's pods in some version of the operator."""
        return tuple(pointer.strip("/").replace("/", ".") for pointer in self.view.suspend_pointers)

    @property
    def watch(self) -> str:
        """The name of its watch in metrics and probes, such as ray_jobs."""
        *first, _ = (word.lower() for word in re.findall("[A-Z][a-z0-9]*", self.kind.name))
        return "_".join((*first, self.kind.plural.removeprefix("".join(first))))
