"""RayJob, by KubeRay's protocol (ray-operator/controllers/ray/rayjob_controller.go at v1.6.2)."""

from collections.abc import Iterator

from muster.controller.jobs import added_containers, kuberay
from muster.controller.jobs.gang import WRITTEN_OUT, PodSetTemplate, cluster_templates, ineligibility
from muster.controller.jobs.job import GangTemplates, JobView, Outcome, Problem, TemplatesBySpec
from muster.kube.kinds import RAY_JOBS
from muster.objects.pods import Template, encode_template, read_template
from muster.objects.ray import RayClusterSpec, RayJob, RayJobSpec

_CLUSTER = "/spec/rayClusterSpec"
SUBMITTER = "submitter"


class RayJobGang(JobView[RayJob]):
    kind = RAY_JOBS

    @property
    def _managed_by(self) -> str:
        return self.obj.spec.managed_by

    @property
    def _templates(self) -> GangTemplates:
        return _templates(self.obj.spec, redis_cleanup=self.has_redis_cleanup)

    @property
    def suspension_obstacle(self) -> Problem | None:
        """KubeRay never leaves ValidationFailed, and suspends a RayJob only while it initializes or runs
        (rayjob_controller.go: Reconcile, updateStatusToSuspendingIfNeeded)."""
        if self.obj.status.job_deployment_status == "Waiting":
            return Problem("Waiting", "waits for spec.jobId, and KubeRay does not suspend it before")
        return self.kuberay_rejection or super().suspension_obstacle

    @property
    def kuberay_rejection(self) -> Problem | None:
        """KubeRay does not treat ValidationFailed as final, but no edit leaves it: Reconcile has no case for
        it. The RayCluster keeps running, and KubeRay does not check whether its job has finished."""
        status = self.obj.status
        if status.job_deployment_status != "ValidationFailed":
            return None
        message = f"was refused by KubeRay ({status.message}): correct it and create it again"
        return Problem("ValidationFailed", message)

    @property
    def suspended(self) -> bool:
        return self.obj.spec.suspend

    @property
    def reported_stopped(self) -> bool:
        return self.obj.status.job_deployment_status in ("", "Suspended", "ValidationFailed")

    @property
    def running(self) -> bool:
        return self.obj.status.job_deployment_status == "Running"

    @property
    def outcome(self) -> Outcome | None:
        """An ended job stays ended, though KubeRay moves it to ValidationFailed after a wrong edit."""
        status = self.obj.status
        refused_since = status.job_deployment_status == "ValidationFailed" and status.end_time
        if status.job_deployment_status not in ("Complete", "Failed") and not refused_since:
            return None
        message = status.message or f"Ray job {status.job_status or status.job_deployment_status}"
        return Outcome(status.job_status == "SUCCEEDED", message)

    @property
    def ineligibility(self) -> str | None:
        spec = self.obj.spec
        if spec.cluster_selector:
            return "spec.clusterSelector puts it on a cluster that is not suspended with it: remove it"
        if not spec.shutdown_after_job_finishes:
            return (
                "KubeRay suspends a RayJob only with spec.shutdownAfterJobFinishes: true: "
                "set it and create the RayJob again"
            )
        if spec.deletion_strategy and spec.deletion_strategy.get("deletionRules"):
            return "spec.deletionStrategy.deletionRules can't be combined with suspension: remove the rules"
        if self.kuberay_rejection is not None:
            return f"the RayJob {self.kuberay_rejection.message}"
        fault = kuberay.job_fault(self.metadata, self.obj.spec)
        return ineligibility(self.cluster_spec, _CLUSTER, self.pod_set_templates) or fault

    @property
    def cluster_spec(self) -> RayClusterSpec:
        return _cluster_spec(self.obj.spec)


def _cluster_spec(spec: RayJobSpec) -> RayClusterSpec:
    return spec.ray_cluster_spec or RayClusterSpec()


def _read_templates(spec: RayJobSpec, redis_cleanup: bool) -> Iterator[PodSetTemplate]:
    cluster, mode = _cluster_spec(spec), spec.submission_mode
    yield from cluster_templates(
        cluster, _CLUSTER, redis_cleanup=redis_cleanup, with_submitter=mode == "SidecarMode"
    )
    if mode != "K8sJobMode":
        return
    given, pointer = spec.submitter_pod_template, "/spec/submitterPodTemplate"
    ours = spec.has_submitter_template and WRITTEN_OUT in read_template(given).metadata.annotations
    own = spec.has_submitter_template and not ours
    template = given if own else _default_submitter(cluster.head_group_spec.template)
    yield PodSetTemplate(SUBMITTER, 1, template, pointer, present=own, written_out=ours)


_templates = TemplatesBySpec(_read_templates)


def _default_submitter(head: Template) -> Template:
    container = added_containers.submitter(head)
    return encode_template({"spec": {"containers": [container], "restartPolicy": "Never"}})
