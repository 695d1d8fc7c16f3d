"""Opens the gates of workers of an elastic gang: as many as hold quota, and have nodes.

The pods of a group are created from one template, but use the nodes of several ProvisioningRequests. So a pod
gets the annotations and node selectors of its request together with the removal of its gate: node selectors
can be added to gated pods (Kubernetes, "Mutable pod scheduling directives").
"""

from collections.abc import Iterator, Mapping
from typing import Any

from muster.cluster.cluster_state import ClusterState
from muster.cluster.growth_nodes import GroupNodes
from muster.cluster.jobs.templates import updates_of
from muster.cluster.queued_growth import growth_requests, queued_groups
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.provisioning.provisioning_checks import pod_set_update
from muster.kube.kinds import PODS
from muster.kube.writes import MergePatch
from muster.objects.core import Pod
from muster.objects.kueue import PodSetUpdate, Workload
from muster.objects.names import CONSUME_ANNOTATION


def openings(
    workload: Workload,
    cluster: ClusterState,
    pods: Mapping[str, list[Pod]],
    free: Mapping[str, int],
    nodes: Mapping[str, GroupNodes],
) -> Iterator[PlannedWrite]:
    """Yields the writes that open gates. `pods` are all pods of the gang by pod set, the oldest first; `free`
    is the number of pods with quota that do not run yet."""
    for name, count in free.items():
        gated = [pod for pod in pods.get(name, ()) if pod.awaits_growth][: max(0, count)]
        if name not in nodes:
            yield from (_open(pod, None) for pod in gated)
        else:
            places = _places(workload, cluster, name, nodes[name])
            yield from (_open(pod, place) for pod, place in zip(gated, places, strict=False))


def _places(
    workload: Workload, cluster: ClusterState, name: str, nodes: GroupNodes
) -> Iterator[PodSetUpdate | None]:
    """Yields the placement of each further pod, on nodes of the gang's own request first."""
    of_gang = (u for u in updates_of(workload.status, name) if CONSUME_ANNOTATION in u.annotations)
    yield from [next(of_gang, None)] * nodes.free_of_gang
    config = queued_groups(workload, workload.status, cluster)[name].config
    requests = {r.metadata.name: r for r in growth_requests(workload, cluster, name)}
    for request, free in nodes.free:
        yield from [pod_set_update(name, config, requests[request])] * free


def _open(pod: Pod, place: PodSetUpdate | None) -> PlannedWrite:
    """Opens the gate of a pod; it has no other, as queued jobs can't have gates."""
    body: dict[str, Any] = {"spec": {"schedulingGates": None}}
    if place is not None:
        body["metadata"] = {"annotations": dict(place.annotations)}
        body["spec"] |= {"nodeSelector": dict(place.node_selector)} if place.node_selector else {}
    patch = MergePatch(PODS, pod.key, body, pod.metadata.resource_version)
    return PlannedWrite(pod.metadata.uid, patch)
