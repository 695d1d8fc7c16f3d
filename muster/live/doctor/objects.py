"""Problems of queues, workloads and their dependent objects."""

from collections.abc import Iterator, Mapping

from muster.cluster import ownership
from muster.cluster.cluster_state import ClusterState
from muster.kube.kinds import WORKLOADS
from muster.live.doctor.finding import ClusterProblem
from muster.objects import workload_status
from muster.objects.kueue import Workload
from muster.objects.kueue_queues import ClusterQueue, LocalQueue
from muster.objects.meta import find_condition, millis
from muster.objects.names import NODE_SIZES, WORKLOAD_UID_LABEL
from muster.translation import snapshot

SETTLED_MS = 60_000  # grace period: the controller may not have reconciled newer objects


def findings(cluster: ClusterState, now_ms: int) -> Iterator[ClusterProblem]:
    """Yields the problems of the objects."""
    yield from _queues(cluster)
    yield from _flavors(cluster)
    yield from _cohorts(cluster)
    yield from _workloads(cluster, now_ms)
    yield from _orphans(cluster, now_ms)


def _queues(cluster: ClusterState) -> Iterator[ClusterProblem]:
    """Yields queues that cannot admit any workload."""
    kinds: tuple[tuple[str, Mapping[str, ClusterQueue | LocalQueue]], ...] = (
        ("ClusterQueue", cluster.cluster_queues),
        ("LocalQueue", cluster.local_queues),
    )
    for kind, queues in kinds:
        for key, queue in sorted(queues.items()):
            subject, policy = f"{kind} {key}", queue.spec.stop_policy
            active = find_condition(queue.status.conditions, "Active")
            if policy != "None":
                where = f" -n {queue.metadata.namespace}" if queue.metadata.namespace else ""
                word = "localqueue" if queue.metadata.namespace else "queue"
                remedy = f"muster resume {word} {queue.metadata.name}{where}"
                yield ClusterProblem("queues", subject, f"is stopped (stopPolicy {policy})", remedy)
            elif active is None:
                fault = "has no condition Active: no controller has reconciled it"
                yield ClusterProblem("queues", subject, fault, "check that the controller runs")
            elif active.status != "True":
                fault = f"cannot admit workloads: {active.message}"
                yield ClusterProblem(
                    "queues", subject, fault, f"see {active.reason} in docs/troubleshooting.md"
                )


def _flavors(cluster: ClusterState) -> Iterator[ClusterProblem]:
    """Yields flavors with an annotation that cannot be parsed, which decisions ignore."""
    for name, flavor in sorted(cluster.flavors.items()):
        try:
            snapshot.node_sizes(flavor.node_sizes)
        except ValueError as error:
            fault = f"has an invalid annotation {NODE_SIZES}, so pod sizes are not checked: {error}"
            remedy = f"deploy its stack again, or kubectl annotate resourceflavor {name} {NODE_SIZES}-"
            yield ClusterProblem("flavors", f"ResourceFlavor {name}", fault, remedy)


def _cohorts(cluster: ClusterState) -> Iterator[ClusterProblem]:
    """Yields cohorts that cannot be parsed; decisions use only the readable quotas."""
    for name, cohort in sorted(cluster.cohorts.items()):
        try:
            snapshot.cohort(cohort)
        except ValueError as error:
            fault = f"is invalid, so its budgets do not count: {error}"
            yield ClusterProblem("cohorts", f"Cohort {name}", fault, "deploy its stack again")


def _workloads(cluster: ClusterState, now_ms: int) -> Iterator[ClusterProblem]:
    """Yields workloads whose status is not updated, or whose pods do not stop."""
    for key, workload in sorted(cluster.workloads.items()):
        conditions = workload.status.conditions
        blocked = find_condition(conditions, workload_status.SUSPENSION_BLOCKED)
        if blocked is not None and blocked.status == "True":
            remedy = f"see {blocked.reason} in docs/troubleshooting.md"
            yield ClusterProblem("statuses", f"Workload {key}", blocked.message, remedy)
        elif not conditions and _age_ms(workload, now_ms) > SETTLED_MS:
            fault = f"has no condition after {_age_ms(workload, now_ms) // 1000} s"
            yield ClusterProblem(
                "statuses", f"Workload {key}", fault, "check that the controller runs, and its log"
            )


def _orphans(cluster: ClusterState, now_ms: int) -> Iterator[ClusterProblem]:
    """Yields objects without their owner. Requests and pods may be listed before their Workload is, so
    objects younger than SETTLED_MS are skipped."""
    uids = {workload.metadata.uid for workload in cluster.workloads.values()}
    for key, workload in sorted(cluster.workloads.items()):
        lost = ownership.job_of(workload) is not None and cluster.job_of(workload) is None
        if lost and _age_ms(workload, now_ms) > SETTLED_MS:
            remedy = f"kubectl delete workload -n {workload.metadata.namespace} {workload.metadata.name}"
            yield ClusterProblem("orphans", f"Workload {key}", "belongs to a deleted job", remedy)
    for key, request in sorted(cluster.provisioning_requests.items()):
        owner = ownership.owner_of(request, WORKLOADS)
        if owner is not None and owner.uid not in uids and _old(request.metadata.creation_timestamp, now_ms):
            remedy = f"kubectl delete provisioningrequest -n {owner.namespace} {request.metadata.name}"
            subject = f"ProvisioningRequest {key}"
            yield ClusterProblem(
                "orphans", subject, "belongs to a deleted Workload, and may hold nodes", remedy
            )
    for key, pod in sorted(cluster.pods.items()):
        uid = pod.metadata.labels.get(WORKLOAD_UID_LABEL)
        if uid and uid not in uids and pod.holds_resources and _old(pod.metadata.creation_timestamp, now_ms):
            remedy = f"kubectl delete pod -n {pod.metadata.namespace} {pod.metadata.name}"
            yield ClusterProblem(
                "orphans", f"Pod {key}", "runs for a deleted Workload, without quota", remedy
            )


def _age_ms(workload: Workload, now_ms: int) -> int:
    return now_ms - millis(workload.metadata.creation_timestamp)


def _old(created: str, now_ms: int) -> bool:
    return now_ms - millis(created) > SETTLED_MS
