"""RayJobs. Source: KubeRay v1.6.2 ray-operator/controllers/ray/rayjob_controller.go."""

from collections.abc import Iterator

from muster.cluster.jobs import added_containers, kuberay
from muster.cluster.jobs.gang import JobAnnotations, PodSetTemplate, cluster_templates, ineligibility
from muster.cluster.jobs.job import GangTemplates, JobOutcome, Schedule, StatusReason
from muster.cluster.jobs.ray_view import RayView, TemplatesBySpec, ray_kind
from muster.kube.kinds import RAY_JOBS
from muster.objects.names import WRITTEN_OUT
from muster.objects.pods import Template, encode_template, read_template
from muster.objects.ray import RayClusterSpec, RayJob, RayJobSpec

_CLUSTER = "/spec/rayClusterSpec"
SUBMITTER = "submitter"
RAY_CRON_JOB = Schedule("ray.io", "RayCronJob", "raycronjobs")


class RayJobGang(RayView[RayJob]):
    """A RayJob as a gang: the RayCluster that it creates, and its submitter."""

    kind = RAY_JOBS
    schedule = RAY_CRON_JOB

    @property
    def _managed_by(self) -> str:
        return self.obj.spec.managed_by

    @property
    def _templates(self) -> GangTemplates:
        return _templates(self.obj.spec, self.of_annotations)

    @property
    def suspension_obstacle(self) -> StatusReason | None:
        """Includes the states Waiting and ValidationFailed: KubeRay suspends a RayJob only while it
        initializes or runs (rayjob_controller.go: Reconcile, updateStatusToSuspendingIfNeeded)."""
        if self.obj.status.job_deployment_status == "Waiting":
            return StatusReason("Waiting", "waits for spec.jobId, and KubeRay can't suspend it in that state")
        return self.kuberay_rejection or super().suspension_obstacle

    @property
    def kuberay_rejection(self) -> StatusReason | None:
        """The rejection in the state ValidationFailed, which is not terminal for KubeRay, but Reconcile has
        no case for it, so a corrected spec is ignored. The RayCluster keeps running, and KubeRay does not
        check whether the job has finished."""
        status = self.obj.status
        if status.job_deployment_status != "ValidationFailed":
            return None
        message = f"was rejected by KubeRay ({status.message}): correct and recreate it"
        return StatusReason("ValidationFailed", message)

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
    def retrying(self) -> bool:
        """The state after a failure within the backoffLimit: KubeRay deletes the RayCluster, and creates the
        next one, under another name, as soon as the object is gone (deleteClusterResources)."""
        return self.obj.status.job_deployment_status == "Retrying"

    @property
    def outcome(self) -> JobOutcome | None:
        """A finished job stays finished, even if an invalid edit then moves it to ValidationFailed."""
        status = self.obj.status
        rejected_after_end = status.job_deployment_status == "ValidationFailed" and status.end_time
        if status.job_deployment_status not in ("Complete", "Failed") and not rejected_after_end:
            return None
        message = status.message or f"Ray job {status.job_status or status.job_deployment_status}"
        return JobOutcome(status.job_status == "SUCCEEDED", message)

    @property
    def ineligibility(self) -> str | None:
        spec = self.obj.spec
        if spec.cluster_selector:
            return "spec.clusterSelector uses a cluster that is not suspended with the job: remove it"
        if not spec.shutdown_after_job_finishes:
            return (
                "KubeRay suspends a RayJob only with spec.shutdownAfterJobFinishes: true: "
                "set it and recreate the RayJob"
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


def _read_templates(spec: RayJobSpec, annotations: JobAnnotations) -> Iterator[PodSetTemplate]:
    cluster, mode = _cluster_spec(spec), spec.submission_mode
    yield from cluster_templates(cluster, _CLUSTER, annotations, with_submitter=mode == "SidecarMode")
    if mode != "K8sJobMode":
        return
    template, pointer = spec.submitter_pod_template, "/spec/submitterPodTemplate"
    written_out = spec.has_submitter_template and WRITTEN_OUT in read_template(template).metadata.annotations
    present = spec.has_submitter_template and not written_out
    if not present:
        template = _default_submitter(cluster.head_group_spec.template)
    yield PodSetTemplate(SUBMITTER, 1, template, pointer, present=present, written_out=written_out)


_templates = TemplatesBySpec(_read_templates)


def _default_submitter(head: Template) -> Template:
    container = added_containers.submitter(head)
    return encode_template({"spec": {"containers": [container], "restartPolicy": "Never"}})


RAY_JOB = ray_kind(RayJobGang, "spec.rayClusterSpec", "spec.submitterPodTemplate")
