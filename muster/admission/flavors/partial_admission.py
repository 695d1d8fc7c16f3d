"""Partial admission: how many pods of each set, if not all of them fit."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeVar

from muster.admission.model import PodSet

Counts = tuple[int, ...]
"""Pods of each pod set, in the order of the workload's."""

T = TypeVar("T")


def reduce_counts(pod_sets: Sequence[PodSet], attempt: Callable[[Counts], T | None]) -> T | None:
    """The answer of `attempt` for the most pods with which it has one; None if it never has, or if
    no pod set can do with less.

    All pod sets shrink together, each in proportion to what it can spare, in as many steps as all
    can spare together. The search over the steps is binary, as if fewer pods always fitted where
    more do. Kueue: PodSetReducer in pkg/scheduler/flavorassigner.
    """
    spare = [
        0 if pod_set.count_min is None else max(0, pod_set.count - pod_set.count_min) for pod_set in pod_sets
    ]
    steps = sum(spare)
    if steps == 0:
        return None
    answers: dict[int, T] = {}

    def fits(step: int) -> bool:
        counts = tuple(
            pod_set.count - spared * step // steps for pod_set, spared in zip(pod_sets, spare, strict=True)
        )
        answer = attempt(counts)
        if answer is not None:
            answers[step] = answer
        return answer is not None

    return answers.get(bisect_left(range(steps + 1), True, key=fits))
