"""Merges the pod sets of a job, as all pods of a trace's job are alike."""

from collections import Counter
from collections.abc import Iterable, Mapping

MERGED = "pod sets are merged: the requests of all pods are spread over the pods with the most accelerators"


def merged(pod_sets: Iterable[tuple[int, Mapping[str, int]]]) -> tuple[int, Mapping[str, int]]:
    """Returns a number of equal pods and the requests of each: the pods with the most accelerators, with the
    requests of all other pods (such as the Ray head) spread over them; none without pod sets. `pod_sets` has
    the number of pods and the requests of each."""
    totals: Counter[str] = Counter()
    accelerators = []
    for pods, requests in pod_sets:
        accelerators.append((sum(each for name, each in requests.items() if "/" in name), pods))
        for resource, each in requests.items():
            totals[resource] += each * pods
    if not accelerators:
        return 0, {}
    pods = max(accelerators)[1]
    return pods, {name: -(-total // pods) for name, total in totals.items() if total}
