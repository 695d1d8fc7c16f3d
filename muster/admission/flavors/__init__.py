"""Flavor assignment: which flavor each pod set takes, and whether it fits or needs preemption.

    QueueFlavors(queue, flavors, rules, topologies)  queue_flavors.py: what is fixed; one a queue and state
    FlavorAssigner(flavors, node, workload, …)       assigner.py: one a nomination
        .assign(counts) -> Assignment                assignment.py: a PodSetChoice for each pod set
    reduce_counts(pod_sets, attempt)                 partial_admission.py: fewer pods, where all do not fit
    Assignment.progress -> ScanProgress                  attempts.py: where the next search goes on
    Assignment.refusal, PodSetChoice.searches        attempts.py: what speaks against which flavor
    Grade, Mode                                      fungibility.py: how good a flavor is
    Placer                                           placement.py: where the pods go on it

An assigner reads usage from the quota tree and changes nothing. Preemption comes in as a function
(`simulate`) that says what it could reach for one resource; victims are chosen later, for
the contested resources of the whole assignment.
"""
