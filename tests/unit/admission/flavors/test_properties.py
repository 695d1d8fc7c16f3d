"""Assignments of random gangs in random clusters, against every combination of flavors there is."""

from collections.abc import Iterator
from itertools import product

from hypothesis import given

from muster.admission import ClusterQueue, FlavorResource, Snapshot, Workload
from muster.admission.flavors.assigner import FlavorAssigner
from muster.admission.flavors.demand import PODS, requests_of
from muster.admission.flavors.fungibility import Mode
from muster.admission.nodes import mismatch
from muster.admission.quota.tree import Usage
from muster.admission.state.state import WorkingState
from tests.unit.admission.strategies import PROPERTY, snapshots


def possible(of: Snapshot, queue: ClusterQueue, gang: Workload) -> Iterator[Usage]:
    """The remaining capacity for a gang of one pod set."""
    (pod_set,) = gang.pod_sets
    asked = requests_of(pod_set, pod_set.count) | {PODS: pod_set.count}
    covered = {name for group in queue.groups for name in group.covered}
    if any(amount and name not in covered for name, amount in asked.items() if name != PODS):
        return
    groups = [group for group in queue.groups if asked.keys() & set(group.covered)]
    for chosen in product(*([flavor.flavor for flavor in group.flavors] for group in groups)):
        if not any(mismatch(pod_set, of.flavors[name]) for name in chosen):
            yield {
                FlavorResource(name, resource): asked[resource]
                for name, group in zip(chosen, groups, strict=True)
                for resource in group.covered
                if resource in asked
            }


@PROPERTY
@given(snapshots())
def test_a_gang_gets_flavors_if_there_are_any_that_fit(of: Snapshot) -> None:
    state = WorkingState(of)
    for gang in of.workloads:
        queue = of.cluster_queues.get(gang.cluster_queue)
        if queue is None or queue.name in state.inactive:
            continue
        node = state.tree.queues[queue.name]
        assignment = FlavorAssigner(state.flavors[queue.name], node, gang).assign()
        if len(gang.pod_sets) == 1:
            fits = any(node.fits(usage) for usage in possible(of, queue, gang))
            assert (assignment.mode is Mode.FIT) == fits
        if assignment.mode is Mode.FIT:
            assert node.fits(assignment.usage)
            node.add(assignment.usage)
        else:
            assert assignment.refusal is not None
            assert assignment.obstacle is not None
