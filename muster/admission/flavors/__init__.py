"""Flavor assignment: which flavor each pod set takes, and whether it fits or needs preemption.

    QueueFlavors(queue, flavors, rules, topologies)  queue_flavors.py: static; one per queue and state
    FlavorAssigner(flavors, node, workload, …)       assigner.py: one per nomination
        .assign(counts) -> Assignment                assignment.py: a PodSetChoice for each pod set
    reduce_counts(pod_sets, attempt)                 partial_admission.py: fewer pods, if all do not fit
    Assignment.progress -> ScanProgress              attempts.py: where the next search continues
    Assignment.refusal, PodSetChoice.searches        attempts.py: why flavors do not fit
    Grade, Mode                                      fungibility.py: the comparison of flavors
    Placer                                           placement.py: topology assignments

An assigner reads the quota tree without changing it. It learns what preemption could achieve for one
resource from a function (`simulate`); preemption targets are selected later, for the contested
resources of the entire assignment.
"""
