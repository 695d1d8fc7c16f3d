"""The page's table of starts within their estimated ranges."""

import pytest

from muster.cluster.cluster_state import ClusterState
from muster.kube import kinds
from muster.live.eta.start_range import StartRange
from muster.live.page.estimates import EstimateCoverage
from muster.objects.meta import rfc3339
from muster.objects.names import ETA_ANNOTATION
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import NOW_MS, Body, stored
from tests.unit.live.builders import cluster, finished, running, since, waiting

HOUR_S, MINUTE_MS = 3_600, 60_000


def estimate(*minutes_ago: float, age_minutes: float = 90) -> str:
    """The annotation with the range from the first to the last time."""
    times = [NOW_MS - round(MINUTE_MS * minutes) for minutes in minutes_ago]
    return StartRange(NOW_MS - round(MINUTE_MS * age_minutes), times[0], times[0], times[-1], 20).annotation


ABOUT_AN_HOUR_AGO = estimate(65, 55)


def old(body: Body, queue: str = "team-a") -> Body:
    """The Workload, created two hours ago and admitted to this queue."""
    body["metadata"]["creationTimestamp"] = rfc3339(NOW_MS - 2 * HOUR_S * 1_000)
    if "admission" in body["status"]:
        body["status"]["admission"]["clusterQueue"] = queue
    return body


def started(name: str, queue: str = "team-a") -> Body:
    """A Workload whose pods became ready an hour ago."""
    return old(running(ray_job(name), HOUR_S), queue)


def jobs(**annotations: str) -> list[Body]:
    return [stored(ray_job(name), annotations={ETA_ANNOTATION: text}) for name, text in annotations.items()]


def state(*workloads: Body, **annotations: str) -> ClusterState:
    return cluster(*workloads, RAY_JOBS=jobs(**annotations))


def bands(coverage: EstimateCoverage, of: ClusterState) -> dict[str, tuple[object, ...]]:
    """Starts before, within and after their range, by row."""
    rows = coverage.update(of)
    return {key: (row["before"], row["within"], row["after"]) for key, row in rows.items()}


def recovered(name: str) -> Body:
    """A Workload that lost a pod, which was replaced an hour ago."""
    body = started(name)
    conditions = [c for c in body["status"]["conditions"] if c["type"] != "PodsReady"]
    body["status"]["conditions"] = [*conditions, since("PodsReady", HOUR_S, reason="Recovered")]
    return body


CASES: dict[str, tuple[Body, str, tuple[int, int, int] | None]] = {
    "within its range": (started("new"), ABOUT_AN_HOUR_AGO, (0, 1, 0)),
    "earlier": (started("new"), estimate(50, 40), (1, 0, 0)),
    "later": (started("new"), estimate(80, 70), (0, 0, 1)),
    "it has finished": (old(finished(ray_job("new"), 1_800, 1_800)), ABOUT_AN_HOUR_AGO, (0, 1, 0)),
    "it waits": (old(waiting(ray_job("new"))), ABOUT_AN_HOUR_AGO, None),
    "the annotation is of an earlier Workload": (
        started("new"),
        estimate(65, 55, age_minutes=121),
        None,
    ),
    "the annotation is newer than the start": (started("new"), estimate(65, 55, age_minutes=59), None),
    "the annotation is invalid": (started("new"), "{}", None),
    "the time is that of a recovery": (recovered("new"), ABOUT_AN_HOUR_AGO, None),
}


@pytest.mark.parametrize("name", CASES)
def test_start_is_compared_with_the_annotation(name: str) -> None:
    workload, annotation, expected = CASES[name]
    rows = bands(EstimateCoverage(), state(workload, new=annotation))
    assert rows == ({} if expected is None else {"all": expected, "queue/team-a": expected})


def test_rows_are_by_queue_and_of_all_queues() -> None:
    workloads = started("one"), started("two"), started("three", "team-b"), started("none")
    rows = EstimateCoverage().update(
        state(
            *workloads,
            one=ABOUT_AN_HOUR_AGO,
            two=estimate(80, 70, age_minutes=100),
            three=estimate(65, 55, age_minutes=61),
        )
    )
    common = {"before": 0, "within": 1}
    assert rows == {
        "all": {"queue": "", "starts": 3, "before": 0, "within": 2, "after": 1, "ageMs": 30 * MINUTE_MS},
        "queue/team-a": {"queue": "team-a", "starts": 2, **common, "after": 1, "ageMs": 30 * MINUTE_MS},
        "queue/team-b": {"queue": "team-b", "starts": 1, **common, "after": 0, "ageMs": MINUTE_MS},
    }


def test_start_is_counted_once_and_outlives_its_workload() -> None:
    coverage, counted = EstimateCoverage(), {"all": (0, 1, 0), "queue/team-a": (0, 1, 0)}
    assert bands(coverage, state(started("new"), new=ABOUT_AN_HOUR_AGO)) == counted
    restarted = old(running(ray_job("new"), 60))
    assert bands(coverage, state(restarted, new=ABOUT_AN_HOUR_AGO)) == counted
    assert bands(coverage, state()) == counted


def test_restart_with_a_new_estimate_is_counted() -> None:
    coverage = EstimateCoverage()
    coverage.update(state(started("new"), new=ABOUT_AN_HOUR_AGO))
    restarted = old(running(ray_job("new"), 60))
    rows = bands(coverage, state(restarted, new=estimate(4, 2, age_minutes=5)))
    assert rows["all"] == (0, 1, 1)


def test_start_is_counted_when_its_job_is_listed_later() -> None:
    coverage, unlisted = EstimateCoverage(), state(started("new"))
    assert coverage.update(unlisted) == {}
    listed = state(new=ABOUT_AN_HOUR_AGO)
    rows = bands(coverage, listed.with_objects(kinds.WORKLOADS, unlisted.workloads))
    assert rows["all"] == (0, 1, 0)


def test_number_of_starts_is_bounded_to_the_newest() -> None:
    coverage = EstimateCoverage(most=1)
    early = old(running(ray_job("early"), 1.5 * HOUR_S))
    rows = bands(
        coverage, state(early, started("new"), early=estimate(50, 40, age_minutes=100), new=ABOUT_AN_HOUR_AGO)
    )
    assert rows["all"] == (0, 1, 0)
