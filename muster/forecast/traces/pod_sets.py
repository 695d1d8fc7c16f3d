"""Merges the pod sets of a job, as all pods of a trace's job are alike."""

from collections import Counter
from collections.abc import Mapping, Sequence

MERGED = "pod sets are merged: the requests of all pods are spread over the pods with the most accelerators"


PodSets = Sequence[tuple[int, Mapping[str, int]]]
"""The number of pods of each pod set, and the requests of one of them."""


def main_pod_set(pod_sets: PodSets) -> int:
    """Returns the index of the pod set whose pods have the most accelerators; of those, the largest."""

    def accelerators(index: int) -> tuple[int, int]:
        pods, requests = pod_sets[index]
        return sum(each for name, each in requests.items() if "/" in name), pods

    return max(range(len(pod_sets)), key=accelerators)


def merged(pod_sets: PodSets) -> tuple[int, Mapping[str, int]]:
    """Returns a number of equal pods and the requests of each: the pods with the most accelerators, with the
    requests of all other pods (such as the Ray head) spread over them; none without pod sets."""
    if not pod_sets:
        return 0, {}
    totals: Counter[str] = Counter()
    for count, requests in pod_sets:
        for resource, each in requests.items():
            totals[resource] += each * count
    pods = pod_sets[main_pod_set(pod_sets)][0]
    return pods, {name: -(-total // pods) for name, total in totals.items() if total}
