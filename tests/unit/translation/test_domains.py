"""Domains of the pods of an elastic pod set."""

import pytest

from muster.admission import HOSTNAME, TopologyAssignment, TopologyDomain
from muster.translation.domains import aligned, beyond, merged, part


def on(text: str) -> TopologyAssignment | None:
    """Reads `host:pods host:pods`; no pods are None."""
    pairs = [item.split(":") for item in text.split()]
    domains = tuple(TopologyDomain((name,), int(count)) for name, count in pairs)
    return TopologyAssignment((HOSTNAME,), domains) if domains else None


@pytest.mark.parametrize(
    ("first", "pods", "expected"),
    [(0, 2, "a:2"), (0, 3, "a:2 b:1"), (1, 2, "a:1 b:1"), (2, 9, "b:3"), (5, 1, ""), (0, 0, "")],
)
def test_pods_have_domains_in_their_order(first: int, pods: int, expected: str) -> None:
    assert part(on("a:2 b:3"), first, pods) == on(expected)


@pytest.mark.parametrize(
    ("of", "added", "expected"),
    [("a:1 b:1", "b:2 c:1", "a:1 b:3 c:1"), ("", "c:1", "c:1"), ("a:1", "", "a:1"), ("", "", "")],
)
def test_new_domains_are_the_last(of: str, added: str, expected: str) -> None:
    assert merged(on(of), on(added)) == on(expected)


@pytest.mark.parametrize(
    ("running", "assigned", "expected"),
    [("a:2 c:1", "a:1 b:1", "a:1 c:1"), ("a:1", "a:2", ""), ("a:1", "", "a:1"), ("", "a:1", "")],
)
def test_pods_beyond_an_assignment(running: str, assigned: str, expected: str) -> None:
    assert beyond(on(running), on(assigned)) == on(expected)


@pytest.mark.parametrize(
    ("assigned", "running", "expected"),
    [
        pytest.param("a:1 b:1 c:1", "a:1 c:1", "a:1 b:1 c:1", id="a pod is missing: its place is free"),
        pytest.param("a:1 b:1", "a:1 b:1 c:1", "a:1 b:1", id="another terminates"),
        pytest.param("a:1 b:1", "a:1 c:1", "a:1 c:1", id="another was removed"),
        pytest.param("a:2 b:1", "b:1 c:1", "a:1 b:1 c:1", id="another was removed, and one is missing"),
        pytest.param("a:2", "b:3", "b:2", id="as many as before"),
        pytest.param("a:1", "", "a:1", id="none run yet"),
        pytest.param("", "b:1", "", id="none are assigned"),
    ],
)
def test_an_assignment_follows_the_pods_that_run(assigned: str, running: str, expected: str) -> None:
    assert aligned(on(assigned), on(running)) == on(expected)
