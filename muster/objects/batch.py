"""Kubernetes' Job, `batch/v1`: the fields that admission uses.

Source: Kubernetes v1.36.3 staging/src/k8s.io/api/batch/v1/types.go.
"""

from msgspec.structs import force_setattr

from muster.objects.meta import Condition, Object, View
from muster.objects.pods import NO_TEMPLATE, Template, own_template
from muster.objects.sharing import share_strings, share_struct

JOB_CONTROLLER = "kubernetes.io/job-controller"
JOB_NAME_LABEL = "batch.kubernetes.io/job-name"  # of a pod


class JobSpec(View, gc=True, weakref=True):
    """The pods of a Job, and how many of them run at a time and must succeed."""

    template: Template = NO_TEMPLATE
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    manual_selector: bool | None = None
    managed_by: str | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "template", own_template(self.template))
        share_strings(self, "completion_mode", "managed_by")

    @property
    def pods_max(self) -> int:
        """Returns the pods that run at a time (Kueue: podsCount in pkg/controller/jobs/job)."""
        parallelism = 1 if self.parallelism is None else self.parallelism
        return parallelism if self.completions is None else min(parallelism, self.completions)


class JobStatus(View):
    """The state of a Job and of its pods."""

    conditions: tuple[Condition, ...] = ()
    start_time: str | None = None
    active: int = 0
    ready: int = 0
    succeeded: int = 0
    completed_indexes: str = ""
    failed_indexes: str = ""


class Job(Object):
    """A Job, which runs pods until enough of them have succeeded."""

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    def __post_init__(self) -> None:
        share_struct(self, "spec")
