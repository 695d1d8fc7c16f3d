"""JobSets: gangs with a pod set for each replicated job.

Sources: JobSet v0.11.0 pkg/controllers/jobset_controller.go and failure_policy.go,
pkg/webhooks/jobset_webhook.go; Kueue v0.19.2 pkg/controller/jobs/jobset/jobset_controller.go.

The Jobs of a JobSet show whether it has stopped: the JobSet has no observed generation, and keeps its
condition Suspended while replicated jobs start one after the other (resumeJobsIfNecessary).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from muster.cluster.jobs.gang import PodSetTemplate, templates_problem
from muster.cluster.jobs.job import GangTemplates, JobOutcome, JobView, Operator, outcome_of
from muster.cluster.jobs.job_kind import JobKind, PodGroups
from muster.kube.kinds import JOB_SETS
from muster.objects.derived import Derived
from muster.objects.jobset import (
    JOBSET_CONTROLLER,
    LABEL_DOMAIN,
    REPLICATED_JOB_LABEL,
    RESTART_LABEL,
    JobSet,
    JobSetSpec,
)
from muster.objects.kueue import ReclaimablePod
from muster.objects.meta import find_condition, is_true
from muster.objects.pods import PodTemplate, read_template

UNLIMITED_RESTARTS = "RestartJobSetAndIgnoreMaxRestarts"
POD_TEMPLATE = "template.spec.template"  # in a replicated job

JOBSET_OPERATOR = Operator(
    name="the JobSet controller",
    group="jobset.x-k8s.io",
    status_of="jobsets",
    managed_by=JOBSET_CONTROLLER,
    word="jobset",
    noun="JobSet",
    label_domains=(LABEL_DOMAIN, f"alpha.{LABEL_DOMAIN}"),
)


class JobSetGang(JobView[JobSet]):
    """A JobSet as a gang; `jobs` are the Jobs that the JobSet controller created for it."""

    kind = JOB_SETS
    operator = JOBSET_OPERATOR
    affinity_is_mutable = False  # of a suspended JobSet, by its webhook (ValidateUpdate)

    def __init__(self, obj: JobSet, *jobs: JobView[Any]) -> None:
        super().__init__(obj)
        self._jobs = jobs

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
        """Reads the Jobs. A JobSet that was created suspended and whose spec has not changed since never
        started. A failed Job means that the controller is about to create all Jobs again."""
        if self.metadata.generation <= 1:
            return self.suspended
        if not is_true(self.obj.status.conditions, "Suspended"):
            return False
        has_jobs = bool(self._jobs) or not any(entry.count for entry in self.pod_set_templates)
        return has_jobs and all(map(_is_down, self._jobs))

    @property
    def start_observed(self) -> bool:
        resumed = find_condition(self.obj.status.conditions, "Suspended")
        is_resumed = resumed is not None and resumed.status == "False"
        return self.suspended or is_resumed or any(not job.halted for job in self._jobs)

    def outdated_parts(self, targets: Mapping[str, PodTemplate]) -> Iterator[JobView[Any]]:
        """Yields Jobs of the last run with node selectors or tolerations that this start does not add: the
        controller merges those of the JobSet into the Jobs, and removes none (resumeJob)."""
        for job in self._jobs:
            target = targets.get(job.metadata.labels.get(REPLICATED_JOB_LABEL, ""))
            if target is not None and job.outcome is None and not _fits(job, target):
                yield job

    @property
    def running(self) -> bool:
        """Returns whether each Job is ready or has succeeded (Kueue: PodsReady)."""
        states = self.obj.status.replicated_jobs_status
        running = sum(state.ready + state.succeeded for state in states)
        return not self.suspended and running == sum(job.replicas for job in self.obj.spec.replicated_jobs)

    @property
    def outcome(self) -> JobOutcome | None:
        return outcome_of(self.obj.status.conditions, "Completed", "Failed", "JobSet")

    @property
    def reclaimable_pods(self) -> tuple[ReclaimablePod, ...]:
        """Pods of Jobs that have succeeded. None while the JobSet may restart, as a restart runs these Jobs
        again, which Kueue does not consider. The status names successes of the last run for a moment, so the
        Jobs of this run count as well."""
        if self._may_restart:
            return ()
        by_status = {state.name: state.succeeded for state in self.obj.status.replicated_jobs_status}
        by_jobs = Counter(job.metadata.labels.get(REPLICATED_JOB_LABEL) for job in self._succeeded_jobs)
        pods = (
            (job.name, job.template.spec.pods_max * min(by_status.get(job.name, 0), by_jobs[job.name]))
            for job in self.obj.spec.replicated_jobs
            if by_status.get(job.name, 0) <= job.replicas
        )
        return tuple(ReclaimablePod(name=name, count=count) for name, count in pods if count > 0)

    @property
    def _succeeded_jobs(self) -> Iterator[JobView[Any]]:
        run = str(self.obj.status.restarts)
        ended = (job for job in self._jobs if job.metadata.labels.get(RESTART_LABEL) == run)
        return (job for job in ended if job.outcome is not None and job.outcome.succeeded)

    @property
    def _may_restart(self) -> bool:
        policy = self.obj.spec.failure_policy
        if policy is None:
            return False
        remain = policy.max_restarts > self.obj.status.restarts_count_towards_max
        return remain or any(rule.action == UNLIMITED_RESTARTS for rule in policy.rules)

    @property
    def ineligibility(self) -> str | None:
        return templates_problem(
            self.pod_set_templates, group="replicated job", name="name", pods="replicas * parallelism"
        )


def _is_down(job: JobView[Any]) -> bool:
    """Returns whether the Job has no pods and gets none until the JobSet is resumed."""
    if job.metadata.deletion_timestamp:
        return False
    if job.outcome is not None:
        return job.outcome.succeeded
    return job.suspended_and_stopped


def _fits(job: JobView[Any], target: PodTemplate) -> bool:
    """Returns whether the Job's pods are placed by the target alone, except for what the JobSet controller
    adds for exclusive placement."""
    (entry,) = job.pod_set_templates
    own = read_template(entry.template).spec
    keys = (key for key in own.node_selector if key not in target.spec.node_selector)
    extra = (t.get("key", "") for t in own.tolerations if t not in target.spec.tolerations)
    domains = tuple(f"{domain}/" for domain in JOBSET_OPERATOR.label_domains)
    return all(key.startswith(domains) for key in (*keys, *extra))


def _read_templates(spec: JobSetSpec) -> GangTemplates:
    return GangTemplates(
        PodSetTemplate(
            job.name,
            job.pods_max,
            job.template.spec.template,
            f"/spec/replicatedJobs/{index}/template/spec/template",
        )
        for index, job in enumerate(spec.replicated_jobs)
    )


_templates = Derived(_read_templates)

JOB_SET = JobKind(
    view=JobSetGang,
    groups=PodGroups(
        path="spec.replicatedJobs",
        noun="replicated job",
        name="name",
        template=POD_TEMPLATE,
        sizes={"replicas": 1, "template.spec.parallelism": 1},
        frozen=("template.spec.completions", "template.spec.completionMode", "dependsOn"),
    ),
    frozen=(
        "spec.network",
        "spec.successPolicy",
        "spec.failurePolicy",
        "spec.startupPolicy",
        "spec.coordinator",
        "spec.volumeClaimPolicies",
    ),
    claim_templates="spec.volumeClaimPolicies",
    reads_dependents=True,
    replaces_parts=True,
    optional=True,
)
