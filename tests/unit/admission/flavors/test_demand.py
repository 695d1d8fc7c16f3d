"""Requests of pod sets, their order, and requests beyond a former slice."""

import pytest

from muster.admission import PodSetAssignment
from muster.admission.flavors.demand import Demand, added, rank, total
from tests.unit.admission.builders import GPU, pods

# published vectors of FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv
HASHES = {"": 0xCBF29CE484222325, "a": 0xAF63DC4C8601EC8C, "foobar": 0x85944171F73967E8}


@pytest.mark.parametrize("text", HASHES)
def test_resources_come_by_the_hash_of_their_names_as_in_kueue(text: str) -> None:
    assert rank(text) == HASHES[text]


def slice_of(requests: dict[str, int], before: dict[str, int]) -> Demand:
    return Demand(0, pods(), 1, requests, replaced=PodSetAssignment("workers", 1, {}, before))


ADDED: dict[str, tuple[Demand, dict[str, int]]] = {
    "more of its resources": (slice_of({GPU: 5}, {GPU: 3}), {GPU: 2}),
    "as much": (slice_of({GPU: 3}, {GPU: 3}), {GPU: 0}),
    "less": (slice_of({GPU: 1}, {GPU: 3}), {GPU: -2}),
    "a resource that it had none of": (slice_of({GPU: 3, "cpu": 2}, {GPU: 3}), {GPU: 0, "cpu": 2}),
    "no former slice": (Demand(0, pods(), 1, {GPU: 5}), {GPU: 5}),
}


@pytest.mark.parametrize("name", ADDED)
def test_a_slice_asks_for_what_the_former_one_has_not(name: str) -> None:
    demand, expected = ADDED[name]
    assert {resource: added(demand, resource) for resource in demand.requests} == expected
    assert total([demand]) == expected
    assert total([demand, demand]) == {resource: 2 * amount for resource, amount in expected.items()}
