"""Where on the nodes the pods of a gang go: topology-aware scheduling.

The interface (muster.admission.topology.cluster, .request and .placements):

    topologies = Topologies(snapshot.flavors, snapshot.topologies, snapshot.nodes, rules)
        Static trees are built here once for a snapshot; everything else is incremental.

    name in topologies               whether pods are placed on this flavor: it names a topology that exists
    topologies.has_levels(flavor, pod_set.topology) -> bool
                                     whether the topology has every level that is asked for
    topologies.add(placed)           counts pods on their domains: an Iterable[TopologyUsage]
    topologies.remove(placed)        gives back what `add` took. For simulations: remove the victims,
                                     ask, add them again; both cost O(domains of the gang)
    topologies.fits(placed) -> bool  whether pods that were placed earlier still fit, all together

    topologies.place(wanted, unhealthy=(), pinned=False, empty=False) -> Placements
        wanted: flavor -> its PlacementRequests, in the order of the workload's pod sets. All pod sets
            of a workload are placed in one call: they are counted against each other, also over
            flavors that share nodes. Nothing stays counted afterwards: `add` what is admitted.
        unhealthy: the workload's failed nodes; then only the first one is replaced, in every
            request's `current` (a request without `current` is left out of the answer).
        pinned: the workload is owned by one bare pod, which can't move: it keeps `current`.
        empty: as if no pods were placed at all (would it fit after preempting everyone?).
        -> Placements.assignments by pod set; Placements.refusal names the pod sets, says why as data
           and as a sentence.

Admission checks' node selectors and tolerations (podSetUpdates) are merged into the request's pod
set by the caller.

A placement goes from `request` (what is requested of the levels) over `domain_capacity` (what a domain holds,
kept by kind of pods; `leaf_capacity` records what has changed) and `search` or `balanced` (which domains) to
`spread` (how many pods each, down to the leaves). `order` says which domain comes first, `nodes` which nodes
match, `reasons` why it failed.

Other than Kueue, no part of a gang is ever placed (where slices do not come out even, Kueue drops
pods), and flavors that share hosts count against each other within a cycle too.

Source of the rules: Kueue's pkg/cache/scheduler/tas_*.go at v0.19.2.
"""

from muster.admission.topology.cluster import Topologies
from muster.admission.topology.placements import Exclusions, PlacementRefusal, Placements, TopologyUsage
from muster.admission.topology.request import PlacementRequest

__all__ = ["Exclusions", "PlacementRefusal", "PlacementRequest", "Placements", "Topologies", "TopologyUsage"]
