"""The past of a cluster as its Workloads record it: runs, waits, provisioning and start-up."""

from collections.abc import Iterator
from dataclasses import replace

from muster import admission as core
from muster.cluster.candidates import WorkloadInfo
from muster.cluster.claims import device_requests
from muster.cluster.cluster_state import ClusterState
from muster.forecast.learning.past_job import PastJob
from muster.forecast.main_flavor import main_flavor
from muster.forecast.observed_state import ObservedWorkload
from muster.forecast.start_estimates import observed_job
from muster.live.workloads import ENDLESS, first_ready_ms, since_ms
from muster.objects.kueue import Workload
from muster.objects.meta import millis
from muster.objects.workload_status import ADMITTED, FINISHED, QUOTA_RESERVED, admitted_at_ms


def past_workloads(cluster: ClusterState, rules: core.Rules, now_ms: int) -> list[PastJob]:
    """Returns the Workloads that hold quota, or held it until they finished, sorted by key."""
    return list(_past_workloads(cluster, rules, now_ms))


def _past_workloads(cluster: ClusterState, rules: core.Rules, now_ms: int) -> Iterator[PastJob]:
    for _, workload in sorted(cluster.workloads.items()):
        status = workload.status
        if status.admission is None:
            continue
        try:
            queue = status.admission.cluster_queue
            devices = device_requests(workload, queue, cluster)
            converted = WorkloadInfo(workload, status, queue, devices=devices).whole(rules)
        except ValueError:
            continue
        yield _past(workload, converted, now_ms)


def _past(workload: Workload, converted: core.Workload, now_ms: int) -> PastJob:
    status, reference = workload.status, workload.spec.priority_class_ref
    created_ms = millis(workload.metadata.creation_timestamp)
    ready_ms, finished_ms = first_ready_ms(status), since_ms(status, FINISHED)
    admitted_ms = admitted_at_ms(status) if finished_ms is None else since_ms(status, ADMITTED)
    began_ms = ready_ms if ready_ms is not None else admitted_ms
    run_ms = _between(began_ms, finished_ms)
    observed = ObservedWorkload(
        converted,
        reference.name if reference is not None else "",
        workload.metadata.namespace,
        submitted_ms=created_ms,
    )
    owner = workload.metadata.controller
    is_endless = owner is not None and owner.kind in ENDLESS and converted.run_time_ms is None
    name = f"{workload.metadata.namespace}/{owner.name}" if owner is not None else workload.key
    return PastJob(
        replace(observed_job(0, observed, run_ms), name=name),  # as in a journal
        converted.run_time_ms,
        _between(created_ms, admitted_ms),
        _between(since_ms(status, QUOTA_RESERVED), admitted_ms) if status.admission_checks else None,
        _between(admitted_ms, ready_ms),
        main_flavor(a.flavors for a in status.admission.pod_set_assignments) if status.admission else "",
        None if finished_ms is not None or is_endless else _between(ready_ms, now_ms),
    )


def _between(begin_ms: int | None, end_ms: int | None) -> int | None:
    """Returns the time from one moment to another; None if one is unknown, or they are not in order."""
    if begin_ms is None or end_ms is None or end_ms < begin_ms:
        return None
    return end_ms - begin_ms
