"""Opens the gates of workers of an elastic gang: as many as hold quota, and have nodes.

The pods of a group are created from one template, but use the nodes of several ProvisioningRequests, and
several domains of a topology. So a pod gets the annotations and node selectors of its request and its domain
together with the removal of its gate: node selectors can be added to gated pods (Kubernetes, "Mutable pod
scheduling directives").
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from muster.admission import TopologyAssignment
from muster.cluster.cluster_state import ClusterState
from muster.cluster.growth_nodes import GroupNodes
from muster.cluster.jobs.templates import updates_of
from muster.cluster.pod_placements import free_domains, pod_placements
from muster.cluster.queued_growth import growth_requests, queued_groups
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.provisioning.provisioning_checks import pod_set_update
from muster.kube.kinds import PODS
from muster.kube.writes import MergePatch
from muster.objects.core import Pod
from muster.objects.kueue import PodSetUpdate, Workload
from muster.objects.names import CONSUME_ANNOTATION, PLACED_ANNOTATIONS, UNCONSTRAINED_TOPOLOGY


@dataclass(frozen=True, slots=True)
class _Place:
    """The annotations and node selectors that a pod gets."""

    annotations: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)


def openings(
    workload: Workload,
    cluster: ClusterState,
    pods: Mapping[str, list[Pod]],
    free: Mapping[str, int],
    nodes: Mapping[str, GroupNodes],
) -> Iterator[PlannedWrite]:
    """Yields the writes that open gates. `pods` are all pods of the gang by pod set, the oldest first; `free`
    is the number of pods with quota that do not run yet."""
    running = pod_placements(workload, workload.status, cluster)
    for name, count in free.items():
        gated = [pod for pod in pods.get(name, ()) if pod.awaits_growth][: max(0, count)]
        if not gated:
            continue
        places = _on_nodes(workload, cluster, name, nodes[name]) if name in nodes else repeat(_Place())
        domains = _in_domains(workload, name, running.get(name))
        for pod, place, domain in zip(gated, places, domains, strict=False):
            yield _open(pod, place, domain)


def _on_nodes(workload: Workload, cluster: ClusterState, name: str, nodes: GroupNodes) -> Iterator[_Place]:
    """Yields the placement of each further pod, on nodes of the gang's own request first."""
    of_gang = (u for u in updates_of(workload.status, name) if CONSUME_ANNOTATION in u.annotations)
    yield from [_of_update(next(of_gang, None))] * nodes.free_of_gang
    config = queued_groups(workload, workload.status, cluster)[name].config
    requests = {r.metadata.name: r for r in growth_requests(workload, cluster, name)}
    for request, free in nodes.free:
        yield from [_of_update(pod_set_update(name, config, requests[request]))] * free


def _of_update(update: PodSetUpdate | None) -> _Place:
    return _Place() if update is None else _Place(update.annotations, update.node_selector)


def _in_domains(workload: Workload, name: str, running: TopologyAssignment | None) -> Iterable[_Place]:
    """Returns the placement of each further pod in a topology: in an assigned domain without a pod."""
    assert workload.status.admission is not None, "only a gang with quota opens gates"
    assigned = next(a for a in workload.status.admission.pod_set_assignments if a.name == name)
    if assigned.topology_assignment is None:
        return repeat(_Place())
    counted_by_admission = {UNCONSTRAINED_TOPOLOGY: "true"}
    return [_Place(counted_by_admission, labels) for labels in free_domains(assigned, running)]


def _open(pod: Pod, *places: _Place) -> PlannedWrite:
    """Opens the gate of a pod; it has no other, as queued jobs can't have gates."""
    annotations: dict[str, str] = {}
    selector: dict[str, str] = {}
    for place in places:
        annotations |= place.annotations
        selector |= place.node_selector
    if not PLACED_ANNOTATIONS.isdisjoint(pod.metadata.annotations):
        annotations.pop(UNCONSTRAINED_TOPOLOGY, None)  # it has the user's own request
    body: dict[str, Any] = {"spec": {"schedulingGates": None}}
    if annotations:
        body["metadata"] = {"annotations": annotations}
    if selector:
        body["spec"]["nodeSelector"] = selector
    patch = MergePatch(PODS, pod.key, body, pod.metadata.resource_version)
    return PlannedWrite(pod.metadata.uid, patch)
