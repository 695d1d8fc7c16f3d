"""Writes of the ProvisioningRequests by which worker groups grow on queued pools."""

from collections.abc import Iterator

from muster.cluster.cluster_state import ClusterState
from muster.cluster.elasticity import may_grow
from muster.cluster.growth_nodes import GroupNodes
from muster.cluster.queued_growth import (
    QueuedGroup,
    growth_requests,
    has_ended,
    nodes_by_group,
    queued_groups,
)
from muster.controller.provisioning.check_requests import growth_request_name
from muster.controller.provisioning.pod_set_groups import PodSetGroup
from muster.controller.provisioning.provisioning_requests import (
    RequestWrites,
    deletions,
    new_request,
    template_repairs,
)
from muster.kube.writes import Write
from muster.objects import workload_status
from muster.objects.kueue import Workload
from muster.objects.names import GROWTH_ATTEMPT, GROWTH_LABEL, GROWTH_NUMBER


def missing(workload: Workload, cluster: ClusterState, now_ms: int) -> Iterator[RequestWrites]:
    """Yields the writes for requests that pods with quota need, and for the templates of existing ones.

    Raises: PlacementError if the templates contradict the admission."""
    for group, nodes in _growing(workload, cluster, now_ms):
        for request in growth_requests(workload, cluster, group.pod_set.name):
            # The autoscaler reads the pods of a provisioned request too, as long as their nodes are booked.
            if request.metadata.name not in nodes.unneeded and not has_ended(request):
                pods = PodSetGroup((group.pod_set,), sum(pods.count for pods in request.spec.pod_sets))
                templates = tuple(template_repairs(workload, pods, request, cluster))
                yield RequestWrites(group.check.name, templates, None)
        name = growth_request_name(workload.metadata.name, group.check.name, group.pod_set.name, nodes.number)
        deleted_first = any(request.metadata.name == name for request in cluster.requests_of(workload))
        if nodes.missing and not deleted_first:
            yield new_request(
                workload,
                group.check,
                group.config,
                name,
                [PodSetGroup((group.pod_set,), nodes.missing)],
                cluster,
                {
                    "labels": {GROWTH_LABEL: group.pod_set.name},
                    "annotations": {GROWTH_NUMBER: str(nodes.number), GROWTH_ATTEMPT: str(nodes.attempt)},
                },
            )


def unneeded(workload: Workload, cluster: ClusterState, now_ms: int) -> Iterator[Write]:
    """Yields the deletions of requests whose pods no longer exist, or that have more pods than still have
    quota."""
    for group, nodes in _growing(workload, cluster, now_ms):
        for request in growth_requests(workload, cluster, group.pod_set.name):
            if request.metadata.name in nodes.unneeded:
                yield from deletions(request)


def _growing(
    workload: Workload, cluster: ClusterState, now_ms: int
) -> Iterator[tuple[QueuedGroup, GroupNodes]]:
    status = workload.status
    if not workload_status.is_admitted(status) or not may_grow(workload, status, cluster):
        return
    groups = queued_groups(workload, status, cluster)
    for name, nodes in sorted(nodes_by_group(workload, status, cluster, now_ms).items()):
        yield groups[name], nodes
