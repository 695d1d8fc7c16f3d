"""Announces the end of a notice to the job itself, so that it can save its state before workers are removed.

Ray itself is not informed: `ray drain-node` needs access to the GCS, from which networks and tokens keep
all but the cluster's own pods. So the deadline is an annotation of the head's pod, in which the job's driver
runs. It can read it in a downward API volume, whose files the kubelet updates (Kubernetes, "Downward API").
Ray chooses the workers only at the deadline, so those to remove are not known before.
"""

from collections.abc import Iterable, Iterator

from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.workload.transitions import SCALED_DOWN
from muster.kube.kinds import PODS
from muster.kube.writes import MergePatch
from muster.objects.core import Pod
from muster.objects.kueue import WorkloadStatus
from muster.objects.meta import find_condition, millis, rfc3339
from muster.objects.names import SHRINKS_ANNOTATION
from muster.objects.workload_status import SHRINKING


def announcements(status: WorkloadStatus, heads: Iterable[Pod], notice_ms: int) -> Iterator[PlannedWrite]:
    """Yields the writes that set the deadline on heads of a gang that is preempted, and remove it afterwards.
    Workers that the autoscaler removes by itself are not announced."""
    condition = find_condition(status.conditions, SHRINKING)
    deadline = None
    if condition is not None and condition.status == "True" and condition.reason != SCALED_DOWN:
        deadline = rfc3339(millis(condition.last_transition_time) + notice_ms)
    for head in heads:
        if head.metadata.annotations.get(SHRINKS_ANNOTATION) != deadline:
            body = {"metadata": {"annotations": {SHRINKS_ANNOTATION: deadline}}}
            patch = MergePatch(PODS, head.key, body, head.metadata.resource_version)
            yield PlannedWrite(head.metadata.uid, patch)
