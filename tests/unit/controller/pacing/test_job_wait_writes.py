"""Tests of which annotations of waiting jobs are written, and when."""

from collections.abc import Iterable

from muster.cluster.cluster_state import ClusterState
from muster.controller.pacing.job_wait_writes import (
    BURST,
    CALM_MS,
    INTERVAL_MS,
    PER_S,
    REFRESH_MS,
    RETRY_MS,
    JobWaitWrites,
)
from muster.kube import kinds
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import Body, condition, make_cluster, stored, workload_body


def reason(name: str, message: str = "needs 4 GPUs") -> Body:
    return condition("QuotaReserved", status=False, reason=name, message=message)


def cluster_of(jobs: Iterable[tuple[str, str]], status: Body) -> ClusterState:
    """Returns a cluster with these waiting jobs, by namespace and name."""
    manifests = [ray_job(name, namespace=namespace) for namespace, name in jobs]
    bodies = [workload_body(manifest) for manifest in manifests]
    for body in bodies:
        body["status"]["conditions"] = [status]
    return make_cluster({kinds.RAY_JOBS: [stored(m) for m in manifests], kinds.WORKLOADS: bodies})


class Writer:
    """Chooses the annotations of one cluster, and carries them out."""

    def __init__(self) -> None:
        self.writes = JobWaitWrites()

    def at(
        self, at_ms: int, cluster: ClusterState, busy: Iterable[str] = (), *, refused: bool = False
    ) -> list[str]:
        """Returns the jobs that are annotated, and with how many events."""
        self.writes.compare(cluster, cluster.workloads, at_ms)
        chosen = self.writes.choose(cluster, lambda queue: list(cluster.workloads), set(busy), 0, at_ms)
        for job in chosen:
            if not refused:
                self.writes.written(job, at_ms)
        return [f"{job.planned.write.key} {len(job.planned.events)}" for job in chosen]


ONE = [("team-a", "dev")]


def test_a_reason_is_told_once_it_has_lasted() -> None:
    writer, cluster = Writer(), cluster_of(ONE, reason("WaitingForQuota"))
    assert writer.at(0, cluster) == []
    assert writer.writes.due_ms() == CALM_MS
    assert writer.at(CALM_MS - 1, cluster) == []
    assert writer.at(CALM_MS - 1 + INTERVAL_MS, cluster) == ["team-a/dev 1"]
    assert writer.writes.due_ms() is None


def test_a_reason_that_passes_is_not_told() -> None:
    writer, waiting = Writer(), cluster_of(ONE, reason("WaitingForQuota"))
    admitted = make_cluster({kinds.RAY_JOBS: [stored(ray_job("dev"))]})
    writer.at(0, waiting)
    writer.at(1000, admitted)
    writer.writes.compare(admitted, waiting.workloads, 1000)
    assert writer.writes.due_ms() is None


def test_new_numbers_are_told_after_a_minute_without_an_event() -> None:
    writer = Writer()
    writer.at(0, cluster_of(ONE, reason("WaitingForQuota")))
    assert writer.at(10_000, cluster_of(ONE, reason("WaitingForQuota"))) == ["team-a/dev 1"]
    other = cluster_of(ONE, reason("WaitingForQuota", "needs 3 GPUs"))
    assert writer.at(20_000, other) == []
    assert writer.at(10_000 + REFRESH_MS, other) == ["team-a/dev 0"]
    assert writer.at(10_000 + 2 * REFRESH_MS, other) == []


def behind(head: str) -> Body:
    return reason("WaitingForQuota", f"waits behind team-a/{head}, the head of ClusterQueue team-a")


def test_another_head_replaces_the_annotation_within_ten_seconds() -> None:
    """A job does not "wait behind" a workload that has started."""
    writer = Writer()
    writer.at(0, cluster_of(ONE, behind("first")))
    assert writer.at(10_000, cluster_of(ONE, behind("first"))) == ["team-a/dev 1"]
    assert writer.at(20_000, cluster_of(ONE, behind("second"))) == []
    assert writer.at(20_000 + CALM_MS, cluster_of(ONE, behind("second"))) == ["team-a/dev 0"]
    assert CALM_MS + INTERVAL_MS < 10_000
    assert writer.at(40_000, cluster_of(ONE, behind("second"))) == []


def test_another_reason_is_told_with_an_event() -> None:
    writer = Writer()
    writer.at(0, cluster_of(ONE, reason("WaitingForQuota")))
    writer.at(10_000, cluster_of(ONE, reason("WaitingForQuota")))
    writer.at(20_000, cluster_of(ONE, reason("Suspended")))
    assert writer.at(30_000, cluster_of(ONE, reason("Suspended"))) == ["team-a/dev 1"]


def test_a_refused_annotation_is_tried_again_later() -> None:
    writer, cluster = Writer(), cluster_of(ONE, reason("WaitingForQuota"))
    writer.at(0, cluster)
    assert writer.at(10_000, cluster, refused=True) == ["team-a/dev 1"]
    assert writer.at(20_000, cluster) == []
    assert writer.at(10_000 + RETRY_MS, cluster) == ["team-a/dev 1"]


def test_a_workload_that_the_pass_writes_is_left_out() -> None:
    writer, cluster = Writer(), cluster_of(ONE, reason("WaitingForQuota"))
    writer.at(0, cluster)
    assert writer.at(10_000, cluster, busy=cluster.workloads) == []


def test_namespaces_share_the_rate() -> None:
    many = [("team-a", f"a{number}") for number in range(3 * BURST)]
    writer, cluster = Writer(), cluster_of([*many, ("team-b", "b")], reason("WaitingForQuota"))
    writer.at(0, cluster)
    first = writer.at(10_000, cluster)
    assert len(first) == BURST
    assert "team-b/b 1" in first
    assert len(writer.at(11_000, cluster)) == PER_S
