"""The journal's record of the sizes of autoscaled jobs."""

from itertools import pairwise
from typing import Any

import pytest

from muster.controller.journal.sizes import CHANGES_MAX, JobSizes
from muster.journal.record import GroupRecord
from muster.translation.devices import NO_DEVICES, DeviceRequests
from tests.unit.controller.builders import NOW_MS, Body
from tests.unit.live.builders import cluster, since, waiting
from tests.unit.live.elastic import elastic, objects, running_elastic

pytestmark = pytest.mark.slow

FINISHED, EVICTED = running_elastic(), running_elastic()
FINISHED["status"]["conditions"].append(since("Finished", 1, reason="Succeeded"))
EVICTED["status"]["conditions"].append(since("Evicted", 1, reason="Preempted"))

Step = tuple[Body, int]
"""A Workload, and the workers that its job asks for."""


def recorded(*steps: Step) -> GroupRecord | None:
    """Returns the record after these observations, a second apart."""
    sizes, workload = JobSizes(), None
    for number, (body, asked) in enumerate(steps):
        kinds_of: dict[str, Any] = objects(asked=asked)
        there = cluster(body, **kinds_of)
        (workload,) = there.workloads.values()
        sizes.note(workload, there, NOW_MS + 1_000 * number)
    assert workload is not None
    groups = list(sizes.groups(workload, {"gpu": {"cpu": "l4"}}, NO_DEVICES))
    return groups[0] if groups else None


def changes(record: GroupRecord | None) -> list[tuple[float, int, int, bool]]:
    """Returns the changes, with seconds since the first observation."""
    assert record is not None
    return [(of.at.timestamp() - NOW_MS / 1_000, of.granted, of.asked, of.limited) for of in record.changes]


def held(granted: int, *, limited: bool = False) -> Body:
    return running_elastic(granted=granted, limited=limited)


STEPS: dict[str, tuple[list[Step], list[tuple[float, int, int, bool]]]] = {
    "once": ([(held(2), 2)], [(0, 2, 2, False)]),
    "unchanged": ([(held(2), 2), (held(2), 2)], [(0, 2, 2, False)]),
    "it asks for more, and gets it": (
        [(held(1), 1), (held(1), 3), (held(3), 3)],
        [(0, 1, 1, False), (1, 1, 3, False), (2, 3, 3, False)],
    ),
    "it is at its limit": (
        [(held(2, limited=True), 3), (held(2, limited=True), 2)],
        [(0, 2, 3, False), (1, 2, 2, True)],
    ),
    "it has its largest size": ([(held(4, limited=True), 4)], [(0, 4, 4, False)]),
    "it is evicted": ([(held(2), 2), (EVICTED, 4)], [(0, 2, 2, False)]),
    "it has ended": ([(held(2), 2), (FINISHED, 0)], [(0, 2, 2, False)]),
    "it waits": ([(waiting(elastic()), 3)], []),
}


@pytest.mark.parametrize("name", STEPS)
def test_changes_of_a_group(name: str) -> None:
    steps, expected = STEPS[name]
    assert changes(recorded(*steps)) == expected


def test_group_has_its_requests_and_limits() -> None:
    record = recorded((held(2), 2))
    assert record is not None
    assert (record.name, record.minimum, record.maximum, record.replica) == ("gpu", 1, 4, 1)
    assert (record.requests["nvidia.com/gpu"], record.flavors) == ("1", {"cpu": "l4"})


def test_many_changes_are_thinned_out() -> None:
    """The first and the latest remain, and the changes between them are spread over the time."""
    steps = [(held(1 + number % 2), 2) for number in range(2 * CHANGES_MAX)]
    times = [at for at, *_ in changes(recorded(*steps))]
    assert CHANGES_MAX / 3 < len(times) <= CHANGES_MAX
    assert (times[0], times[-1]) == (0, 2 * CHANGES_MAX - 1)
    assert max(later - at for at, later in pairwise(times)) <= 4


def test_sizes_of_a_deleted_workload_are_forgotten() -> None:
    sizes, there = JobSizes(), cluster(held(2))
    (workload,) = there.workloads.values()
    sizes.note(workload, there, NOW_MS)
    sizes.forget(workload.metadata.uid)
    (group,) = sizes.groups(workload, {}, DeviceRequests({"gpu": {"example.com/fpga": 2}}))
    assert group.changes == ()
    assert group.requests["example.com/fpga"] == "2"
