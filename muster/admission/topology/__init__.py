"""Topology-aware scheduling: the placement of a gang's pods on topology domains.

The interface (muster.admission.topology.cluster, .request and .placements):

    topologies = Topologies(snapshot.flavors, snapshot.topologies, snapshot.nodes, rules)
        Builds static trees, once per snapshot; all later updates are incremental.

    name in topologies               whether pods are placed on this flavor: its topology exists
    topologies.has_levels(flavor, pod_set.topology) -> bool
                                     whether the topology has all requested levels
    topologies.add(placed)           counts pods on their domains: an Iterable[TopologyUsage]
    topologies.remove(placed)        reverts `add`. Simulations remove the preemption targets, place, and
                                     add them again; both calls cost O(domains of the gang)
    topologies.fits(placed) -> bool  whether pods that were placed earlier still fit together

    topologies.place(requests, unhealthy=(), pinned=False, empty=False) -> Placements
        requests: flavor -> its PlacementRequests, in the order of the workload's pod sets. One call places
            all pod sets of a workload: they count against each other, also across flavors that
            share nodes. It does not count their usage afterwards: `add` the admitted ones.
        unhealthy: the workload's failed nodes. Only the first one is replaced, in each request's `current`;
            requests without `current` get no assignment.
        pinned: a single bare pod owns the workload and cannot move: it keeps `current`.
        empty: ignores all placed pods (would it fit after preempting all workloads?).
        -> Placements.assignments by pod set; Placements.refusal has the pod sets and the reason, as data
           and as a sentence.

The caller merges the node selectors and tolerations of admission checks (podSetUpdates) into the pod set of
the request.

The steps of a placement: `request` resolves levels and slices; `nodes` matches pods with the leaves of
`domains`; `domain_capacity` computes the capacity of domains, cached by kind of pods; `search` or `balanced`
selects domains; `spread` distributes the pods down to the leaves; `placements` explains refusals. `elastic`,
`near` and `replacement` place only the additional or the moved pods of a set.

Unlike in Kueue, a gang is always placed whole (Kueue drops pods that do not fill a slice), and flavors that
share hosts count against each other within a cycle, too.

Source of the rules: Kueue's pkg/cache/scheduler/tas_*.go at v0.19.2.
"""

from muster.admission.topology.cluster import Topologies
from muster.admission.topology.placements import Exclusions, PlacementRefusal, Placements, TopologyUsage
from muster.admission.topology.request import PlacementRequest

__all__ = ["Exclusions", "PlacementRefusal", "PlacementRequest", "Placements", "Topologies", "TopologyUsage"]
