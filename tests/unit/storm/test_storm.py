"""The storm's verdict finds violations, and its proxy stops forwarding in a black hole."""

import socket
import threading
from typing import Any

import pytest

from muster.kube import kinds
from muster.objects.meta import rfc3339
from muster.objects.names import QUEUE_LABEL, WORKLOAD_UID_LABEL
from tests.simulation.api import Body
from tests.simulation.kuberay_pods import GROUP_LABEL
from tests.simulation.manifests import GPU, local_stack
from tests.storm.proxy import Proxy
from tests.storm.recorder import Event
from tests.storm.replay import Outage
from tests.storm.verdict import (
    duplicates,
    failures,
    judge,
    outcomes,
    overdue,
    preempted,
    several_workloads,
    unended,
)

QUEUES = [(kind, body) for kind, bodies in local_stack().items() for body in bodies]


def reserved(name: str, gpus: int, revision: int) -> Event:
    """Returns a Workload of team-a that got quota at this revision."""
    owner = {"uid": f"job-{name}", "controller": True}
    meta = {"namespace": "team-a", "name": name, "uid": name, "ownerReferences": [owner]}
    usage = {"flavors": {GPU: "l4"}, "resourceUsage": {GPU: str(gpus)}, "name": "gpu", "count": gpus}
    status = {
        "conditions": [{"type": "QuotaReserved", "status": "True"}],
        "admission": {"clusterQueue": "team-a", "podSetAssignments": [usage]},
    }
    body: Body = {"metadata": meta, "spec": {"queueName": "user-queue"}, "status": status}
    return Event(revision, kinds.WORKLOADS, "ADDED", body)


def cluster(name: str, revision: int, change: str = "ADDED", **meta: Any) -> Event:
    owners = [{"uid": "job", "controller": True}]
    metadata = {"namespace": "team-a", "name": name, "uid": name, "ownerReferences": owners, **meta}
    return Event(revision, kinds.RAY_CLUSTERS, change, {"metadata": metadata, "spec": {"suspend": True}})


def started(revision: int, suspend: bool = False) -> Event:
    body: Body = {"metadata": {"name": "job", "uid": "job"}, "spec": {"suspend": suspend}}
    return Event(revision, kinds.RAY_JOBS, "MODIFIED", body)


TWICE = (started(1), cluster("a", 2), started(3, suspend=True), started(4))


def test_every_revision_above_the_quota_is_found() -> None:
    events = [reserved("first", 3, 1), reserved("second", 1, 2), reserved("third", 1, 3)]
    (violation,) = judge(events, QUEUES).violations
    assert violation.startswith("revision 3: team-a uses 5 of 4")


def test_a_finished_workload_that_the_storm_deletes_is_no_violation() -> None:
    job = {"namespace": "team-a", "name": "job", "uid": "job-first", "labels": {QUEUE_LABEL: "user-queue"}}
    finished = reserved("first", 1, 2)
    finished.body["status"]["conditions"].append({"type": "Finished", "status": "True"})
    events = [
        Event(1, kinds.RAY_JOBS, "ADDED", {"metadata": job, "spec": {"suspend": True}}),
        finished,
        Event(3, kinds.WORKLOADS, "DELETED", finished.body),
    ]
    assert judge(events, QUEUES).violations == []


def worker(name: str, revision: int, made_s: int, change: str = "ADDED", **meta: Any) -> Event:
    """A pod of the Workload `first`, made at this second by its RayCluster."""
    metadata = {
        "namespace": "team-a",
        "name": name,
        "uid": name,
        "creationTimestamp": rfc3339(made_s * 1000),
        "labels": {WORKLOAD_UID_LABEL: "first", GROUP_LABEL: "gpu"},
        "ownerReferences": [{"uid": "cluster", "controller": True}],
        **meta,
    }
    body: Body = {"metadata": metadata, "spec": {}, "status": {"phase": "Running"}}
    return Event(revision, kinds.PODS, change, body)


@pytest.mark.parametrize(
    ("events", "wrong"),
    [
        pytest.param([worker("b", 3, 29)], "revision 3: team-a/first has quota for", id="too early"),
        pytest.param(
            [worker("b", 3, 30)], "KubeRay created team-a/b a second time", id="a second time, and left"
        ),
        pytest.param(
            [worker("b", 3, 30), worker("b", 4, 30, "MODIFIED", deletionTimestamp="now")],
            "",
            id="a second time, and deleted",
        ),
        pytest.param(
            [worker("b", 3, 30), worker("b", 4, 30, "DELETED")], "", id="a second time, and gone immediately"
        ),
        pytest.param(
            [worker("b", 3, 30, ownerReferences=[{"uid": "other", "controller": True}])],
            "revision 3: team-a/first has quota for",
            id="of another RayCluster",
        ),
    ],
)
def test_pods_that_kuberay_makes_twice_have_to_be_deleted(events: list[Event], wrong: str) -> None:
    violations, delayed, _ = judge([reserved("first", 1, 1), worker("a", 2, 0), *events], QUEUES)
    assert [text[: len(wrong)] for text in violations] == ([wrong] if wrong else [])
    assert delayed == set()


@pytest.mark.parametrize(
    ("events", "wrong"),
    [
        pytest.param([worker("b", 6, 5)], "KubeRay created team-a/b for a RayCluster that", id="and left"),
        pytest.param([worker("b", 6, 5), worker("b", 7, 5, "DELETED")], "", id="and deleted"),
        pytest.param(
            [Event(6, kinds.WORKLOADS, "DELETED", reserved("first", 1, 1).body)],
            "revision 6: the Workload with UID first is deleted",
            id="a pod that was created before",
        ),
    ],
)
def test_pods_of_deleted_ray_clusters_have_to_be_deleted(events: list[Event], wrong: str) -> None:
    before = [
        reserved("first", 1, 1),
        cluster("cluster", 2),
        worker("a", 3, 0),
        cluster("cluster", 4, "DELETED"),
    ]
    violations, _, unchecked = judge([*before, *events], QUEUES)
    assert [text[: len(wrong)] for text in violations] == ([wrong] if wrong else [])
    assert sum(unchecked.values()) == sum(event.kind is kinds.PODS for event in events[:1])


AGAIN = [worker("b", 5, 14), worker("b", 6, 14, "DELETED")]
TWO_LOST = [*AGAIN, worker("c", 7, 15), worker("c", 8, 15, "DELETED")]
OUTAGE = Outage(10.5, 12.0)


@pytest.mark.parametrize(
    ("created_s", "outages", "again", "wrong"),
    [
        pytest.param(10, [OUTAGE], AGAIN, False, id="in the second of the kill"),
        pytest.param(9, [OUTAGE], AGAIN, False, id="not yet answered at the kill"),
        pytest.param(8, [OUTAGE], AGAIN, True, id="answered before the kill"),
        pytest.param(12, [OUTAGE], AGAIN, False, id="while etcd was down"),
        pytest.param(13, [OUTAGE], AGAIN, True, id="after the outage"),
        pytest.param(10, [], AGAIN, True, id="no outage"),
        pytest.param(10, [OUTAGE], AGAIN[:1], True, id="and left"),
        pytest.param(10, [OUTAGE], TWO_LOST, True, id="more often than answers were lost"),
        pytest.param(10, [OUTAGE, Outage(14.5, 14.6)], TWO_LOST, False, id="both answers were lost"),
    ],
)
def test_pods_are_created_again_only_if_an_answer_may_have_been_lost(
    created_s: int, outages: list[Outage], again: list[Event], wrong: bool
) -> None:
    job = {"uid": "job", "name": "train", "controller": True}
    events = [
        reserved("first", 1, 1),
        cluster("cluster", 2, ownerReferences=[job]),
        worker("a", 3, created_s),
        *again,
    ]
    violations, delayed, _ = judge(events, QUEUES, outages)
    assert bool(violations) is wrong
    if not wrong:
        assert delayed == {"team-a/train"}


@pytest.mark.parametrize(
    ("late", "too_late", "violations"),
    [
        pytest.param({}, {}, [], id="in time"),
        pytest.param({"a/delayed": "Running"}, {}, [], id="delayed"),
        pytest.param(
            {"a/delayed": "Running"}, {"a/delayed": "Running"}, ["a/delayed is Running"], id="stuck"
        ),
        pytest.param({"a/job": "Running", "a/delayed": "Running"}, {}, ["a/job is Running"], id="late"),
    ],
)
def test_only_jobs_that_kuberay_delays_have_its_requeue_time(
    late: dict[str, str], too_late: dict[str, str], violations: list[str]
) -> None:
    assert overdue(late, too_late, {"a/delayed"}) == violations


@pytest.mark.parametrize(
    ("events", "revisions"),
    [
        pytest.param([*TWICE, cluster("b", 5)], ["revision 5"], id="the first is still there"),
        pytest.param([*TWICE, cluster("a", 5, "DELETED"), cluster("b", 6)], [], id="one after another"),
        pytest.param(
            [*TWICE, cluster("a", 5, "MODIFIED", deletionTimestamp="now"), cluster("b", 6)],
            [],
            id="the first is being deleted",
        ),
        pytest.param([started(1), cluster("a", 2), cluster("b", 3)], [], id="KubeRay made two for one start"),
    ],
)
def test_ray_clusters_of_two_starts_are_found(events: list[Event], revisions: list[str]) -> None:
    assert [text.partition(":")[0] for text in duplicates(events)] == revisions


def test_job_that_does_not_end_is_found() -> None:
    jobs = [
        {"metadata": {"name": name}, "status": {"jobDeploymentStatus": state}}
        for name, state in (("done", "Complete"), ("failed", "Failed"), ("stuck", "Running"))
    ]
    assert unended([*jobs, {"metadata": {"name": "new"}}]) == {"stuck": "Running", "new": "not started"}


def workload(name: str, revision: int, change: str = "ADDED", **meta: Any) -> Event:
    owners = [{"uid": "job-uid", "name": "job", "controller": True}]
    metadata = {"namespace": "team-a", "name": name, "uid": name, "ownerReferences": owners, **meta}
    return Event(revision, kinds.WORKLOADS, change, {"metadata": metadata})


@pytest.mark.parametrize(
    ("events", "wrong"),
    [
        pytest.param([workload("a", 1), workload("a", 2, "MODIFIED")], [], id="changed"),
        pytest.param([workload("a", 1), workload("a", 2, "DELETED"), workload("b", 3)], [], id="replaced"),
        pytest.param(
            [workload("a", 1), workload("a", 2, deletionTimestamp="2026-11-27T00:00:00Z"), workload("b", 3)],
            [],
            id="replaced while it is being deleted",
        ),
        pytest.param(
            [workload("a", 1), workload("b", 2)],
            ["revision 2: job has several Workloads"],
            id="two at a time",
        ),
    ],
)
def test_jobs_with_several_workloads_are_found(events: list[Event], wrong: list[str]) -> None:
    assert several_workloads(events) == wrong


def test_workloads_that_were_preempted_are_counted_once() -> None:
    event = workload("a", 1)
    event.body["status"] = {"conditions": [{"type": "Preempted", "status": "True"}]}
    assert preempted([event, event, workload("b", 2)]) == {"a"}


def test_failed_jobs_are_found_and_counted() -> None:
    statuses = (
        {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"},
        {"jobDeploymentStatus": "Failed", "reason": "DeadlineExceeded"},
        {"jobDeploymentStatus": "Complete", "jobStatus": "FAILED", "message": "lost its head"},
    )
    jobs = [{"metadata": {"namespace": "a", "name": f"j{i}"}, "status": s} for i, s in enumerate(statuses)]
    assert failures(jobs) == ["a/j1 failed: DeadlineExceeded", "a/j2 failed: lost its head"]
    assert outcomes(jobs) == "1 SUCCEEDED, 1 without a status, 1 FAILED"


def test_black_hole_delays_bytes_until_it_ends() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=echo_once, args=(server,), daemon=True).start()
        proxy = Proxy(server.getsockname()[1]).start()
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            client.settimeout(5)
            client.sendall(b"one")
            assert client.recv(3) == b"one"
            proxy.black_hole(True)
            client.sendall(b"two")
            client.settimeout(0.3)
            with pytest.raises(TimeoutError):
                client.recv(3)
            proxy.black_hole(False)
            client.settimeout(5)
            assert client.recv(3) == b"two"
        proxy.close()


def echo_once(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        while chunk := connection.recv(64):
            connection.sendall(chunk)
