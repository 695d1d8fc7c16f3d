"""JobSets, `jobset.x-k8s.io/v1alpha2`: the fields that admission uses.

Source: JobSet v0.11.0 api/jobset/v1alpha2/jobset_types.go.
"""

from muster.objects.batch import JobSpec
from muster.objects.meta import Condition, Object, View
from muster.objects.sharing import share_strings, share_struct

JOBSET_CONTROLLER = "jobset.sigs.k8s.io/jobset-controller"
LABEL_DOMAIN = "jobset.sigs.k8s.io"
# Of the Jobs that the controller creates, and of their pods.
JOBSET_NAME_LABEL = f"{LABEL_DOMAIN}/jobset-name"
JOBSET_UID_LABEL = f"{LABEL_DOMAIN}/jobset-uid"
REPLICATED_JOB_LABEL = f"{LABEL_DOMAIN}/replicatedjob-name"
RESTART_LABEL = f"{LABEL_DOMAIN}/restart-attempt"


class JobTemplate(View):
    """The Jobs of a replicated job."""

    spec: JobSpec = JobSpec()


class ReplicatedJob(View):
    """A number of Jobs with the same template."""

    name: str = ""
    replicas: int = 1
    template: JobTemplate = JobTemplate()

    @property
    def pods_max(self) -> int:
        """Returns the pods that run at a time (Kueue: podsCount in pkg/controller/jobs/jobset)."""
        return self.replicas * self.template.spec.pods_max


class FailurePolicyRule(View):
    """A reaction to the failure of a Job."""

    action: str = ""


class FailurePolicy(View):
    """Restarts of a JobSet, in which all of its Jobs are created again."""

    max_restarts: int = 0
    rules: tuple[FailurePolicyRule, ...] = ()


class JobSetSpec(View, gc=True, weakref=True):
    """The replicated jobs, and how often they restart together."""

    replicated_jobs: tuple[ReplicatedJob, ...] = ()
    suspend: bool | None = None
    failure_policy: FailurePolicy | None = None
    managed_by: str | None = None

    def __post_init__(self) -> None:
        share_strings(self, "managed_by")


class ReplicatedJobStatus(View):
    """The Jobs of a replicated job, by state."""

    name: str = ""
    ready: int = 0
    succeeded: int = 0


class JobSetStatus(View):
    """The state of a JobSet and of its Jobs."""

    conditions: tuple[Condition, ...] = ()
    restarts: int = 0
    restarts_count_towards_max: int = 0
    replicated_jobs_status: tuple[ReplicatedJobStatus, ...] = ()


class JobSet(Object):
    """A JobSet, which creates Jobs that run together."""

    spec: JobSetSpec = JobSetSpec()
    status: JobSetStatus = JobSetStatus()

    def __post_init__(self) -> None:
        share_struct(self, "spec")
