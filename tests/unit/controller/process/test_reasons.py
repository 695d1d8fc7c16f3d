"""Reasons of events and conditions that users rarely see: what sets them, as docs/troubleshooting.md says."""

import asyncio
from typing import Any

import pytest

from muster.controller.gangs.job_writes import sync_provisioning_requests
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.gangs.stops import stops
from muster.controller.pacing.pacing import WriteBackoff
from muster.controller.passes.reconcile import reconcile
from muster.controller.process.apply import Applier
from muster.controller.workload.events import ObjectEvent
from muster.kube import kinds
from muster.kube.store import Stores
from muster.kube.writes import MergePatch
from muster.objects.meta import ObjectMeta
from tests.simulation.manifests import cluster_queue, quotas, ray_job
from tests.unit.controller.builders import (
    NOW_MS,
    Body,
    make_cluster,
    queue_statuses,
    read,
    workload,
    workload_body,
)
from tests.unit.controller.gangs.evicted_gangs import evicted, gang_pod
from tests.unit.controller.passes.pass_cases import dev
from tests.unit.controller.process.recorder import Recorder

UNREADABLE = quotas("l4", cpu=16, gpu=4)
UNREADABLE["resources"][0]["nominalQuota"] = "many"


@pytest.mark.parametrize(
    ("queue", "reason"),
    [
        pytest.param(
            cluster_queue(
                "team-a",
                quotas("l4", cpu=16, gpu=4),
                admissionScope={"admissionMode": "UsageBasedAdmissionFairSharing"},
            ),
            "UnsupportedAdmissionMode",
            id="a mode of admission that is not supported",
        ),
        pytest.param(cluster_queue("team-a", UNREADABLE), "Unknown", id="quotas that cannot be read"),
    ],
)
def test_a_queue_that_cannot_admit_has_a_reason(queue: Body, reason: str) -> None:
    cluster = make_cluster({kinds.CLUSTER_QUEUES: [queue]})
    planned = queue_statuses(cluster)
    written: dict[str, Any] = {s.subject: s.write for s in planned}
    (condition,) = written["ClusterQueue team-a"].body["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", reason)


def test_an_update_of_a_workload_is_an_event_of_the_job() -> None:
    job = dev()
    job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "prod-priority"
    cluster = make_cluster({kinds.RAY_JOBS: [job], kinds.WORKLOADS: [workload_body(ray_job("dev"))]})
    done = reconcile(cluster, NOW_MS)
    events = [n for s in (*done.writes.before_reservations, *done.writes.reservations) for n in s.events]
    assert [(n.kind, n.regarding.name) for n in events if n.reason == "UpdatedWorkload"] == [
        (kinds.RAY_JOBS, "dev")
    ]


def test_a_request_for_nodes_is_an_event_of_the_workload() -> None:
    gang = workload(ray_job("dev"), "QuotaReserved", check="Pending")
    events = [n for s in sync_provisioning_requests(gang, make_cluster(), NOW_MS) for n in s.events]
    assert [(n.kind, n.reason, n.warning) for n in events] == [
        (kinds.WORKLOADS, "ProvisioningRequestCreated", False)
    ]


def test_deletions_of_pods_are_an_event_of_the_workload() -> None:
    cluster = make_cluster(
        {
            kinds.RAY_JOBS: [dev("Running")],
            kinds.WORKLOADS: [evicted(122)],
            kinds.PODS: [gang_pod("a"), gang_pod("b")],
        }
    )
    events = [n for s in stops(read(kinds.WORKLOADS, evicted(122)), cluster, NOW_MS) for n in s.events]
    assert [(n.kind, n.reason, n.warning) for n in events] == [(kinds.WORKLOADS, "DeletedPods", True)]


def test_a_refused_change_is_an_event() -> None:
    recorded: list[ObjectEvent] = []
    event = ObjectEvent(kinds.RAY_JOBS, ObjectMeta(name="dev", namespace="team-a"), "Started", "Admitted")
    write = MergePatch(kinds.RAY_JOBS, "team-a/dev", {"spec": {"suspend": False}}, "7")
    applier = Applier(Recorder({write.key: 422}), Stores(), WriteBackoff(), recorded.append)
    asyncio.run(applier.perform([PlannedWrite("uid", write, (event,))], 0))
    assert [(n.regarding.key, n.reason, n.warning) for n in recorded] == [
        ("team-a/dev", "FailedUpdate", True)
    ]
