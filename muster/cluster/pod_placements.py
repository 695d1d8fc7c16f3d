"""The topology domains of the pods of elastic gangs.

The pods of a group are created from one template, and Ray chooses which of them it removes. So each pod gets
the labels of its domain as a node selector when its gate is opened (growth_gates.py), by which the domains of
the pods that run are known.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from muster.admission import HOSTNAME, TopologyAssignment, TopologyDomain
from muster.cluster.cluster_state import ClusterState
from muster.cluster.pod_sets import using_quota
from muster.objects.kueue import PodSetAssignment, Workload, WorkloadStatus
from muster.translation import assignments, domains


def pod_placements(
    workload: Workload, status: WorkloadStatus, cluster: ClusterState
) -> Mapping[str, TopologyAssignment]:
    """Returns the domains of running pods by pod set, without pod sets that are not placed in a topology."""
    assigned = status.admission.pod_set_assignments if status.admission is not None else ()
    levels = {a.name: of_set for a in assigned if (of_set := _levels(a, cluster))}
    if not levels:
        return {}
    pods: dict[str, Counter[domains.Values]] = defaultdict(Counter)
    for name, pod in using_quota(cluster.live_pods_of(workload)):
        selector = pod.spec.node_selector or {}
        if name in levels and all(key in selector for key in levels[name]):
            pods[name][tuple(selector[key] for key in levels[name])] += 1
    return {
        name: TopologyAssignment(
            levels[name], tuple(TopologyDomain(*item) for item in sorted(counts.items()))
        )
        for name, counts in pods.items()
    }


def free_domains(assigned: PodSetAssignment, running: TopologyAssignment | None) -> Sequence[dict[str, str]]:
    """Returns the labels of the domain of each assigned pod that does not run yet."""
    if assigned.topology_assignment is None:
        return []
    unused = domains.beyond(assignments.expanded(assigned.topology_assignment), running)
    if unused is None:
        return []
    labels = ((dict(zip(unused.levels, d.values, strict=True)), d.count) for d in unused.domains)
    return [of_domain for of_domain, count in labels for _ in range(count)]


def _levels(assigned: PodSetAssignment, cluster: ClusterState) -> tuple[str, ...]:
    """Returns the labels that identify a domain in the assignment of a pod set, or that would if it has no
    pods; empty if its flavors have no topology."""
    if assigned.topology_assignment is not None:
        return assigned.topology_assignment.levels
    flavors = (cluster.flavors.get(name) for name in sorted(set(assigned.flavors.values())))
    topologies = (cluster.topologies.get(f.spec.topology_name) for f in flavors if f is not None)
    topology = next((of_flavor for of_flavor in topologies if of_flavor is not None), None)
    keys = tuple(level.node_label for level in topology.spec.levels) if topology is not None else ()
    return keys[-1:] if keys[-1:] == (HOSTNAME,) else keys
