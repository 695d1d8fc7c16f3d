"""Kubernetes' Jobs: a gang of `parallelism` pods with one template.

Sources: Kubernetes v1.36.3 pkg/controller/job/job_controller.go and pkg/registry/batch/job/strategy.go;
Kueue v0.19.2 pkg/controller/jobs/job/job_controller.go.

The API server lets a start change the template of a suspended Job only if status.startTime is not set, which
versions of the Job controller before 1.36 leave set on a suspension. So it is reset before each start, as in
Kueue.
"""

from collections.abc import Mapping

from muster.cluster.jobs.gang import PodSetTemplate, templates_problem
from muster.cluster.jobs.job import GangTemplates, JobOutcome, JobView, Operator, Schedule, outcome_of
from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.jobset import JOBSET_OPERATOR
from muster.cluster.jobs.ray_view import KUBERAY
from muster.kube.kinds import BATCH_JOBS, JOB_SETS
from muster.kube.writes import MergePatch, Write
from muster.objects.batch import JOB_CONTROLLER, JOB_NAME_LABEL, Job, JobSpec
from muster.objects.derived import Derived
from muster.objects.jobset import JOBSET_NAME_LABEL, JOBSET_UID_LABEL, REPLICATED_JOB_LABEL
from muster.objects.kueue import ReclaimablePod
from muster.objects.meta import is_true
from muster.objects.names import MIN_PARALLELISM_ANNOTATION

MAIN = "main"
INDEXED = "Indexed"
# As for the API server (pkg/apis/batch/validation: validateCompletions), which also allows larger numbers.
KEEPS_COMPLETIONS = (
    'request.operation == "CREATE" || object.spec.?completions == oldObject.spec.?completions || '
    "(object.spec.?completions == object.spec.?parallelism && "
    "oldObject.spec.?completions == oldObject.spec.?parallelism && "
    "object.spec.?completions.orValue(0) < oldObject.spec.?completions.orValue(0))"
)
NO_PARTIAL_ADMISSION = (
    f"the annotation {MIN_PARALLELISM_ANNOTATION} asks for partial admission, but a gang is admitted whole: "
    "remove it, or lower spec.parallelism"
)


class BatchJobGang(JobView[Job]):
    """A Job as a gang. Jobs that another object controls, such as the submitters that KubeRay creates and the
    Jobs of a JobSet, are not managed: they are counted with their owner. The Jobs of a CronJob are
    managed."""

    kind = BATCH_JOBS
    operator = Operator(
        name="the Job controller",
        group="batch",
        status_of="jobs",
        managed_by=JOB_CONTROLLER,
        word="job",
        noun="Job",
        propagation="Orphan",  # pkg/registry/batch/job/strategy.go, for batch/v1
    )
    shrinks = True
    schedule = Schedule("batch", "CronJob", "cronjobs")

    @property
    def _managed_by(self) -> str | None:
        return self.obj.spec.managed_by

    @property
    def _templates(self) -> GangTemplates:
        return _templates(self.obj.spec)

    @property
    def suspended(self) -> bool:
        return bool(self.obj.spec.suspend)

    @property
    def reported_stopped(self) -> bool:
        """Reads the condition. A Job without conditions counts as stopped only if it was created suspended
        and its spec has not changed since: otherwise the Job controller may be creating its pods."""
        status = self.obj.status
        if status.conditions or status.start_time:
            return is_true(status.conditions, "Suspended") and status.active == 0
        return self.suspended and self.metadata.generation <= 1

    @property
    def ready_to_start(self) -> bool:
        """False while the API server refuses changes of the template."""
        return self.status_reset is None

    @property
    def status_reset(self) -> Write | None:
        if not self.suspended or self.obj.status.start_time is None or not self.reported_stopped:
            return None
        body = {"status": {"startTime": None}}
        return MergePatch(self.kind, self.metadata.key, body, self.metadata.resource_version, status=True)

    @property
    def start_observed(self) -> bool:
        status = self.obj.status
        started = status.start_time is not None and not is_true(status.conditions, "Suspended")
        return self.suspended or started

    @property
    def running(self) -> bool:
        status, spec = self.obj.status, self.obj.spec
        return status.start_time is not None and status.ready + status.succeeded >= spec.pods_max

    @property
    def outcome(self) -> JobOutcome | None:
        """The conditions Complete and Failed, which the Job controller sets once all pods have ended."""
        return outcome_of(self.obj.status.conditions, "Complete", "Failed", "Job")

    @property
    def reclaimable_pods(self) -> tuple[ReclaimablePod, ...]:
        """Pods whose place no further pod will take, as fewer completions remain than pods run at a time."""
        spec, status = self.obj.spec, self.obj.status
        completions = spec.pods_max if spec.completions is None else spec.completions
        ended = status.succeeded
        if spec.completion_mode == INDEXED:
            ended = _ended_indexes(f"{status.completed_indexes},{status.failed_indexes}", completions)
        unused = spec.pods_max - max(completions - ended, 0)
        return (ReclaimablePod(name=MAIN, count=unused),) if ended and unused > 0 else ()

    @property
    def ineligibility(self) -> str | None:
        if self.obj.spec.manual_selector:
            return "spec.manualSelector could make it adopt pods of others: remove it and recreate the Job"
        if MIN_PARALLELISM_ANNOTATION in self.metadata.annotations:
            return NO_PARTIAL_ADMISSION
        return templates_problem(self.pod_set_templates)


def _read_templates(spec: JobSpec) -> GangTemplates:
    return GangTemplates([PodSetTemplate(MAIN, spec.pods_max, spec.template, "/spec/template")])


_templates = Derived(_read_templates)


def _ended_indexes(intervals: str, completions: int) -> int:
    """Returns the number of indexes in a list such as `0,2-4`, whose intervals may overlap."""
    bounds = (interval.partition("-") for interval in intervals.split(",") if interval)
    ended, next_index = 0, 0
    for first, last in sorted((int(first), int(last or first)) for first, _, last in bounds):
        end = min(last + 1, completions)
        ended += max(end - max(first, next_index), 0)
        next_index = max(next_index, end)
    return ended


def pod_set_of(labels: Mapping[str, str], job: str) -> str | None:
    """Returns the pod set by the label with which the Job controller marks a Job's pods. That of a JobSet's
    Job is its replicated job, by the labels that the name of the Job consists of (GenJobName)."""
    if labels.get(JOB_NAME_LABEL) != job:
        return None
    replicated = labels.get(REPLICATED_JOB_LABEL, "")
    is_of_jobset = job.startswith(f"{labels.get(JOBSET_NAME_LABEL, '')}-{replicated}-")
    return replicated if replicated and is_of_jobset else MAIN


BATCH_JOB = JobKind(
    view=BatchJobGang,
    templates=("spec.template",),
    sizes={"spec.parallelism": 1},
    rules={
        KEEPS_COMPLETIONS: (
            "a queued Job keeps spec.completions, but an Indexed Job with as many completions as parallelism "
            "may lower both together: for a larger Job, delete it and create it again"
        ),
        "!object.spec.?manualSelector.orValue(false)": (
            "a queued Job with spec.manualSelector could adopt pods of others: remove the field"
        ),
        f'!("{MIN_PARALLELISM_ANNOTATION}" in object.metadata.?annotations.orValue({{}}))': (
            NO_PARTIAL_ADMISSION
        ),
    },
    created_by=(JOB_SETS,),
    origin_label=JOBSET_UID_LABEL,
    reserved_labels=(JOBSET_NAME_LABEL, JOBSET_UID_LABEL, REPLICATED_JOB_LABEL),
    used_by=(KUBERAY, JOBSET_OPERATOR),
    resets_status=True,
    pod_set_of=pod_set_of,
    objects_max=10_000,  # includes the submitters of RayJobs and the Jobs of JobSets
)
