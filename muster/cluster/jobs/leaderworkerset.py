"""LeaderWorkerSets: gangs of all groups, each of a leader and its workers.

A LeaderWorkerSet has no field that suspends it, so it is suspended while `spec.replicas` is 0, and the
annotation COUNT_ANNOTATION has the number of groups that it starts with. Kueue admits each group by its pods,
which wait behind scheduling gates; here no pod exists before the gang is admitted, and its placement is in
the templates, as with all other kinds.

A change of a template replaces the groups one after the other, with up to maxSurge further groups at a time,
so the gang has quota for these too. A restart deletes a group before it is created again.

Source: LeaderWorkerSet v0.8.0 pkg/controllers/leaderworkerset_controller.go and pod_controller.go. From
0 replicas a change of the templates takes effect immediately (rollingUpdateParameters): the partition is
min(replicas, replicas of the StatefulSet).
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from muster.cluster.jobs.gang import PodSetTemplate, templates_problem
from muster.cluster.jobs.job import GangTemplates, JobOutcome, JobView, Operator
from muster.cluster.jobs.job_kind import JobKind, PodController
from muster.kube.kinds import LEADER_WORKER_SETS
from muster.objects.lws import LABEL_DOMAIN, SET_NAME_LABEL, LeaderWorkerSet
from muster.objects.meta import is_true
from muster.objects.names import COUNT_ANNOTATION, POD_SET_LABEL

LEADER, WORKER, MAIN = "leader", "worker", "main"
COUNT_MAX = 2**31 - 1
_GROUP = "spec.leaderWorkerTemplate"
_PARTITION = "object.spec.?rolloutStrategy.?rollingUpdateConfiguration.?partition.orValue(0)"


class LeaderWorkerSetGang(JobView[LeaderWorkerSet]):
    """A LeaderWorkerSet as a gang: pod sets `leader` and `worker`, or `main` if all pods have one template.

    Its status has no observed generation. With 0 replicas it is Available only if the controller has seen
    that none is required (updateConditions)."""

    kind = LEADER_WORKER_SETS
    suspend_pointers = ("/spec/replicas",)
    operator = Operator(
        name="the LeaderWorkerSet controller",
        group="leaderworkerset.x-k8s.io",
        status_of="leaderworkersets",
        managed_by="",
        word="lws",
        noun="LeaderWorkerSet",
        label_domains=(LABEL_DOMAIN,),
    )

    @property
    def _replicas(self) -> int:
        replicas = self.obj.spec.replicas
        return 1 if replicas is None else replicas

    @property
    def count(self) -> int:
        """The groups that run, or that it starts with; 0 if the annotation is missing or unreadable."""
        if self._replicas:
            return self._replicas
        text = self.metadata.annotations.get(COUNT_ANNOTATION, "")
        return min(int(text), COUNT_MAX) if text.isascii() and text.isdecimal() and len(text) <= 10 else 0

    @property
    def suspension(self) -> dict[str, Any]:
        annotations = {COUNT_ANNOTATION: str(self.count)}
        return {"metadata": {"annotations": annotations}, "spec": {"replicas": 0}}

    @property
    def resumption(self) -> Mapping[str, Any]:
        return {"/spec/replicas": self.count}

    @property
    def _templates(self) -> GangTemplates:
        return self._gang

    @cached_property
    def _gang(self) -> GangTemplates:
        group = self.obj.spec.leader_worker_template
        size = 1 if group.size is None else group.size
        surge = self.obj.spec.rollout_strategy.rolling_update_configuration.surge(self.count)
        groups, pointer = self.count + surge, "/spec/leaderWorkerTemplate"
        worker = f"{pointer}/workerTemplate"
        if not group.has_leader_template:
            return GangTemplates([PodSetTemplate(MAIN, groups * size, group.worker_template, worker)])
        leader = PodSetTemplate(LEADER, groups, group.leader_template, f"{pointer}/leaderTemplate")
        workers = PodSetTemplate(WORKER, groups * (size - 1), group.worker_template, worker)
        return GangTemplates([leader, workers])

    def pod_labels(self, pod_set: str) -> Mapping[str, str]:
        return {POD_SET_LABEL: pod_set}

    @property
    def suspended(self) -> bool:
        return self._replicas == 0

    @property
    def reported_stopped(self) -> bool:
        status = self.obj.status
        if not status.conditions:
            return self.suspended and self.metadata.generation <= 1
        return is_true(status.conditions, "Available") and status.replicas == status.ready_replicas == 0

    @property
    def start_observed(self) -> bool:
        """Leaders exist, so the StatefulSet's controller no longer creates pods for an older state."""
        return self.suspended or self.obj.status.replicas > 0

    @property
    def running(self) -> bool:
        return not self.suspended and self.obj.status.ready_replicas >= self._replicas

    @property
    def outcome(self) -> JobOutcome | None:
        return None

    @property
    def ineligibility(self) -> str | None:
        if self.count == 0:
            return (
                f"it has 0 replicas, and no number of replicas to start with in its annotation "
                f"{COUNT_ANNOTATION}: set spec.replicas, or delete it"
            )
        if self.obj.spec.rollout_strategy.rolling_update_configuration.partition:
            return f"{PARTITIONED}: set it to 0"
        return templates_problem(self.pod_set_templates, pods="replicas * size")


PARTITIONED = (
    "the first groups of a queued LeaderWorkerSet with spec.rolloutStrategy.rollingUpdateConfiguration."
    "partition would start from a template without the nodes that they have quota for"
)


def pod_set_of(labels: Mapping[str, str], creator: str) -> str | None:
    """Returns the pod set by the label that a start sets. The creator is the StatefulSet of the leaders or of
    a group's workers, whose names begin with that of the LeaderWorkerSet."""
    name = labels.get(SET_NAME_LABEL, "")
    is_of_set = bool(name) and (creator == name or creator.startswith(f"{name}-"))
    return labels.get(POD_SET_LABEL) if is_of_set else None


LEADER_WORKER_SET = JobKind(
    view=LeaderWorkerSetGang,
    templates=(f"{_GROUP}.workerTemplate", f"{_GROUP}.leaderTemplate"),
    count_annotation=COUNT_ANNOTATION,
    frozen=(
        f"{_GROUP}.size",
        f"{_GROUP}.restartPolicy",
        f"{_GROUP}.subGroupPolicy",
        f"{_GROUP}.volumeClaimTemplates",
        f"{_GROUP}.persistentVolumeClaimRetentionPolicy",
        "spec.rolloutStrategy",
        "spec.startupPolicy",
        "spec.networkConfig",
    ),
    rules={f"{_PARTITION} == 0": f"{PARTITIONED}: remove it"},
    claim_templates=f"{_GROUP}.volumeClaimTemplates",
    optional=True,
    pod_set_of=pod_set_of,
    pod_controller=PodController("apps", "StatefulSet", "statefulsets"),
    endless=True,
)
