import pytest

from muster.admission import PodSet
from muster.admission.flavors.partial_admission import Counts, reduce_counts
from tests.unit.admission.builders import pods

FIVE_TO_ONE = pods("a", 5, count_min=1)

FOUND = {  # pod sets, most pods that fit, counts found
    "all fit": ((FIVE_TO_ONE,), 5, (5,)),
    "some fit": ((FIVE_TO_ONE,), 3, (3,)),
    "only the least fits": ((FIVE_TO_ONE,), 1, (1,)),
    "not even the least": ((FIVE_TO_ONE,), 0, None),
    "others stay whole": ((pods("lead", 2), FIVE_TO_ONE), 5, (2, 3)),
    "each in proportion": ((FIVE_TO_ONE, pods("b", 9, count_min=1)), 8, (3, 5)),
    "nothing to spare": ((pods("a", 4, count_min=4),), 2, None),
    "none may shrink": ((pods("a", 4),), 2, None),
    "less than none to spare": ((pods("a", 2, count_min=3), pods("b", 2, count_min=3)), 4, None),
}


@pytest.mark.parametrize(("pod_sets", "limit", "counts"), FOUND.values(), ids=FOUND.keys())
def test_reduce_counts(pod_sets: tuple[PodSet, ...], limit: int, counts: Counts | None) -> None:
    assert reduce_counts(pod_sets, lambda tried: tried if sum(tried) <= limit else None) == counts


def test_few_counts_are_tried() -> None:
    tried: list[Counts] = []

    def attempt(counts: Counts) -> Counts | None:
        tried.append(counts)
        return counts if sum(counts) <= 400 else None

    assert reduce_counts([pods("a", 1000, count_min=1)], attempt) == (400,)
    assert len(tried) <= 11
