"""Sizes of autoscaled gangs over time on the page."""

from typing import Any

import pytest

from muster.cluster.cluster_state import ClusterState
from muster.live.page.attempts import KEPT_MS
from muster.live.page.board import Board
from muster.live.page.sizes import CHANGES_MAX, RecentSizes
from muster.objects.meta import rfc3339
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import NOW_MS
from tests.unit.live.builders import cluster, running, waiting
from tests.unit.live.elastic import objects, running_elastic, waiting_elastic

UID = running_elastic()["metadata"]["uid"]
KEY = f"team-a/{running_elastic()['metadata']['name']}"
FIXED = running(ray_job("fixed"))


def scaled(granted: int, asked: int = 3, runs: int = 2) -> ClusterState:
    kinds_of: dict[str, Any] = objects(asked=asked, runs=runs)
    return cluster(FIXED, running_elastic(granted=granted), **kinds_of)


def sizes(*steps: tuple[int, ClusterState]) -> list[tuple[int, int, int, int | None]]:
    """The noted sizes after updates at these milliseconds."""
    recent = RecentSizes()
    for at_ms, there in steps:
        recent.update(there, NOW_MS + at_ms)
    assert recent.of(FIXED["metadata"]["uid"]) == ()
    return [(size.at_ms - NOW_MS, size.granted, size.asked, size.running) for size in recent.of(UID)]


NOTED: dict[str, tuple[list[tuple[int, ClusterState]], list[tuple[int, int, int, int | None]]]] = {
    "it does not change": ([(0, scaled(2)), (9, scaled(2))], [(0, 2, 3, 2)]),
    "it grows, and runs": (
        [(0, scaled(2)), (5, scaled(3)), (9, scaled(3, runs=3))],
        [(0, 2, 3, 2), (5, 3, 3, 2), (9, 3, 3, 3)],
    ),
    "it asks for less": ([(0, scaled(3)), (5, scaled(3, asked=1))], [(0, 3, 3, 2), (5, 3, 1, 2)]),
    "it waits for its minimum": ([(0, cluster(waiting_elastic()))], [(0, 0, 3, None)]),
    "it is deleted": ([(0, scaled(2)), (5, cluster(FIXED))], []),
    "long ago": (
        [(0, scaled(2)), (5, scaled(3)), (KEPT_MS + 9, scaled(4))],
        [(5, 3, 3, 2), (KEPT_MS + 9, 4, 3, 2)],
    ),
}


@pytest.mark.parametrize("name", NOTED)
def test_sizes_are_noted_as_they_change(name: str) -> None:
    steps, expected = NOTED[name]
    assert sizes(*steps) == expected


def test_many_changes_are_thinned() -> None:
    changes = 3 * CHANGES_MAX
    small, large = scaled(2), scaled(3)
    noted = sizes(*((n, large if n % 2 else small) for n in range(changes)))
    assert len(noted) <= CHANGES_MAX
    assert (noted[0][0], noted[-1][0]) == (0, changes - 1)


def test_a_workload_of_the_page_has_its_sizes() -> None:
    board = Board()
    board.refresh(scaled(2), NOW_MS)
    board.refresh(scaled(3), NOW_MS + 60_000)
    of_scaled = board.workload(KEY)
    assert of_scaled is not None
    assert of_scaled["sizes"] == [
        {"at": rfc3339(NOW_MS), "granted": 2, "asked": 3, "running": 2},
        {"at": rfc3339(NOW_MS + 60_000), "granted": 3, "asked": 3, "running": 2},
    ]
    board.refresh(cluster(waiting(ray_job("next"))), NOW_MS)
    assert board.workload(KEY) is None
