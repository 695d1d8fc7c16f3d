"""Conversion of topology assignments between their compressed and their plain form."""

from typing import Any

import msgspec
import pytest

from muster import admission as core
from muster.objects import kueue
from muster.objects.meta import builtins
from muster.translation import assignments

HOST = core.HOSTNAME


def assigned(levels: tuple[str, ...], *domains: tuple[Any, ...]) -> core.TopologyAssignment:
    """Returns an assignment; a domain is given by its values and its count."""
    return core.TopologyAssignment(
        levels, tuple(core.TopologyDomain(tuple(values), count) for *values, count in domains)
    )


ONE_SLICE_SHARED = {
    "levels": ["kubernetes.io/hostname"],
    "slices": [
        {
            "domainCount": 2,
            "valuesPerLevel": [{"individual": {"prefix": "pool-", "roots": ["a", "b"]}}],
            "podCounts": {"universal": 1},
        }
    ],
}


@pytest.mark.parametrize(
    ("plain", "form"),
    [
        pytest.param(assigned((HOST,)), {"levels": [HOST]}, id="nowhere"),
        pytest.param(
            assigned((HOST,), ("x1", 2)),
            {
                "levels": [HOST],
                "slices": [
                    {
                        "domainCount": 1,
                        "valuesPerLevel": [{"universal": "x1"}],
                        "podCounts": {"universal": 2},
                    }
                ],
            },
            id="one domain",
        ),
        pytest.param(assigned((HOST,), ("pool-a", 1), ("pool-b", 1)), ONE_SLICE_SHARED, id="a common prefix"),
        pytest.param(
            assigned(("block", "rack"), ("b1", "r1x", 1), ("b1", "r2x", 3)),
            {
                "levels": ["block", "rack"],
                "slices": [
                    {
                        "domainCount": 2,
                        "valuesPerLevel": [
                            {"universal": "b1"},
                            {"individual": {"prefix": "r", "suffix": "x", "roots": ["1", "2"]}},
                        ],
                        "podCounts": {"individual": [1, 3]},
                    }
                ],
            },
            id="a level in common, a suffix, and counts that differ",
        ),
        pytest.param(
            assigned(("rack",), ("aba", 1), ("ababa", 1)),
            {
                "levels": ["rack"],
                "slices": [
                    {
                        "domainCount": 2,
                        "valuesPerLevel": [{"individual": {"suffix": "aba", "roots": ["", "ab"]}}],
                        "podCounts": {"universal": 1},
                    }
                ],
            },
            id="a prefix and a suffix that would overlap",
        ),
    ],
)
def test_an_assignment_is_compressed_and_expanded(
    plain: core.TopologyAssignment, form: dict[str, Any]
) -> None:
    compressed = assignments.compressed(plain)
    assert builtins(compressed) == form
    assert assignments.expanded(compressed) == plain


def hosts(prefix: str, count: int) -> list[tuple[Any, ...]]:
    return [(f"{prefix}-{number:04d}x", 1) for number in range(count)]


def test_hostnames_of_two_pools_become_two_slices_if_shorter() -> None:
    pools = ["gke-cluster-one-large-pool-0a1b2c3d", "gke-cluster-one-small-pool-9f8e7d6c"]
    plain = assigned((HOST,), *hosts(pools[0], 20), *hosts(pools[1], 20))
    compressed = assignments.compressed(plain)
    assert [part.domain_count for part in compressed.slices] == [20, 20]
    assert assignments.expanded(compressed) == plain


def test_hostnames_that_share_little_become_one_slice() -> None:
    plain = assigned((HOST,), ("a-1", 1), ("a-2", 1), ("b-1", 1), ("b-2", 1))
    assert len(assignments.compressed(plain).slices) == 1


@pytest.mark.parametrize("name", ["pool-{:05d}-{}", "p{:05d}-{}"], ids=["shorter prefix", "no prefix"])
def test_slices_never_exceed_the_apis_limit(name: str) -> None:
    """Each pair of nodes has its own prefix, so that the longest prefixes make 1,100 runs."""
    domains = [(name.format(pair, node), 1) for pair in range(1100) for node in "ab"]
    assert len(assignments.compressed(assigned((HOST,), *domains)).slices) == 1


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        pytest.param({"individual": {"roots": ["a"]}}, {"universal": 1}, id="too few values"),
        pytest.param({"universal": "a"}, {"individual": [1]}, id="too few counts"),
    ],
)
def test_a_contradictory_slice_is_refused(values: dict[str, Any], counts: dict[str, Any]) -> None:
    obj = {
        "levels": [HOST],
        "slices": [{"domainCount": 2, "valuesPerLevel": [values], "podCounts": counts}],
    }
    with pytest.raises(ValueError, match="expected 2 values"):
        assignments.expanded(msgspec.convert(obj, kueue.TopologyAssignment))
