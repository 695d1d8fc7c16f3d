"""Partial admission: the number of pods of each pod set, if not all fit."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeVar

from muster.admission.model import PodSet

Counts = tuple[int, ...]
"""Pods of each pod set, in the order of the workload's."""

T = TypeVar("T")


def reduce_counts(pod_sets: Sequence[PodSet], attempt: Callable[[Counts], T | None]) -> T | None:
    """Returns the result of `attempt` for the most pods that fit; None if no reduction fits or no pod set
    permits one.

    All pod sets shrink together, in proportion to their optional pods (count minus minimum), in as many steps
    as there are optional pods. The binary search assumes that fewer pods fit whenever more do. Kueue:
    PodSetReducer in pkg/scheduler/flavorassigner.
    """
    spare = [
        0 if pod_set.count_min is None else max(0, pod_set.count - pod_set.count_min) for pod_set in pod_sets
    ]
    steps = sum(spare)
    if steps == 0:
        return None
    results: dict[int, T] = {}

    def fits(step: int) -> bool:
        counts = tuple(
            pod_set.count - spared * step // steps for pod_set, spared in zip(pod_sets, spare, strict=True)
        )
        result = attempt(counts)
        if result is not None:
            results[step] = result
        return result is not None

    return results.get(bisect_left(range(steps + 1), True, key=fits))
