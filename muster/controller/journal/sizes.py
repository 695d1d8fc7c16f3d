"""The sizes of autoscaled jobs over time, for the journal."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from muster.admission import QuantityError, quantities
from muster.cluster.cluster_state import ClusterState
from muster.cluster.elasticity import asked_pods, granted_counts
from muster.cluster.jobs.scaling import GroupSizes, stored_sizes
from muster.journal.record import GroupRecord, SizeChange
from muster.objects.kueue import PodSet, Workload
from muster.objects.meta import is_true
from muster.objects.pods import pod_requests
from muster.objects.workload_status import GROWTH_LIMITED, is_admitted, is_evicted, is_finished
from muster.translation.devices import DeviceRequests

CHANGES_MAX = 200
"""Changes of a worker group. When there are more, every second one is dropped."""


class JobSizes:
    """The changes of worker groups by UID of the Workload and pod set. A new leader does not have
    earlier changes."""

    def __init__(self) -> None:
        self._changes: dict[str, dict[str, list[SizeChange]]] = {}

    def note(self, workload: Workload, cluster: ClusterState, now_ms: int) -> None:
        """Notes the size of an autoscaled job if it differs from the last one."""
        status, sizes = workload.status, stored_sizes(workload)
        if not sizes or not is_admitted(status) or is_evicted(status) or is_finished(status):
            return
        granted, asked = granted_counts(status), asked_pods(workload, cluster)
        limited = is_true(status.conditions, GROWTH_LIMITED)
        changes = self._changes.setdefault(workload.metadata.uid, {})
        for name in sizes.keys() & granted.keys():
            is_limited = limited and asked[name] <= granted[name] < _maximum(sizes[name])
            size = SizeChange(
                at=datetime.fromtimestamp(now_ms / 1000, UTC),
                granted=granted[name],
                asked=asked[name],
                limited=is_limited,
            )
            of_group = changes.setdefault(name, [])
            if not of_group or not _is_same(of_group[-1], size):
                of_group.append(size)
            if len(of_group) > CHANGES_MAX:
                del of_group[1:-1:2]

    def groups(
        self, workload: Workload, flavors: Mapping[str, Mapping[str, str]], devices: DeviceRequests
    ) -> Iterator[GroupRecord]:
        """Yields the records of the worker groups of an autoscaled job; `flavors` are by pod set and
        resource, `devices` those of its pods."""
        sizes = stored_sizes(workload)
        changes = self._changes.get(workload.metadata.uid, {})
        for pod_set in workload.spec.pod_sets:
            if pod_set.name in sizes:
                yield from _group(
                    pod_set,
                    sizes[pod_set.name],
                    flavors.get(pod_set.name, {}),
                    devices,
                    changes.get(pod_set.name, []),
                )

    def forget(self, uid: str) -> None:
        """Forgets a Workload."""
        self._changes.pop(uid, None)


def _group(
    pod_set: PodSet,
    size: GroupSizes,
    flavors: Mapping[str, str],
    devices: DeviceRequests,
    changes: list[SizeChange],
) -> Iterator[GroupRecord]:
    try:
        requests = devices.counted(pod_set.name, pod_requests(pod_set.template))
    except QuantityError:
        return  # such a workload is never admitted
    yield GroupRecord(
        name=pod_set.name,
        requests={resource: quantities.format(resource, units) for resource, units in requests.items()},
        flavors=dict(flavors),
        topology=pod_set.topology_request,
        minimum=size.minimum,
        maximum=_maximum(size),
        replica=size.num_of_hosts,
        changes=tuple(changes),
    )


def _maximum(size: GroupSizes) -> int:
    return size.asked(size.max_replicas)


def _is_same(before: SizeChange, now: SizeChange) -> bool:
    return (before.granted, before.asked, before.limited) == (now.granted, now.asked, now.limited)
