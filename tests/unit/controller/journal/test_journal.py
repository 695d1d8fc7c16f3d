"""Records of workloads that have ended, from the observations of passes."""

from collections.abc import Sequence
from typing import Any

import msgspec

from muster.admission.lifecycle import Readiness
from muster.cluster.jobs.job import JobOutcome
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.journal.journal import Journal
from muster.controller.metrics.observer import CompletedPass
from muster.controller.passes.pass_plan import PassPlan, PassStatistics
from muster.controller.passes.status_writes import status_patch
from muster.controller.workload import transitions
from muster.forecast.estimate_outcome import EstimateOutcome, SimulatedWait
from muster.journal.record import EstimateRecord, JournalRecord, WorkloadOutcome
from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import millis
from muster.objects.names import DEVICE_CLASSES, REQUIRED_TOPOLOGY
from tests.simulation.manifests import GPU, local_stack, ray_job, template
from tests.unit.controller.builders import (
    CREATED,
    NOW_MS,
    Body,
    make_cluster,
    read,
    workload_body,
    workload_without_job,
)

RUNS = ("QuotaReserved", "Admitted", "PodsReady")
MINUTE_MS = 60_000


class Recorded:
    """A journal that keeps its records."""

    def __init__(self) -> None:
        self.records: list[JournalRecord] = []
        self.failures = 0
        self._observed: set[str] = set()
        self.estimates: dict[str, tuple[EstimateOutcome, ...]] = {}
        self.journal = Journal(self._put, self._fail, lambda uid: self.estimates.get(uid, ()))

    def _put(self, line: bytes) -> None:
        assert line.endswith(b"\n")
        self.records.append(msgspec.json.decode(line, type=JournalRecord))

    def _fail(self) -> None:
        self.failures += 1

    def observe(
        self,
        *bodies: Body,
        done: Sequence[PlannedWrite] = (),
        now_ms: int = NOW_MS,
        others: dict[Kind[Any], list[Body]] | None = None,
    ) -> None:
        """Observes a pass that examined these Workloads, and notices which others are deleted. `others` are
        objects of other kinds."""
        cluster = make_cluster({kinds.WORKLOADS: list(bodies), **(others or {})})
        plan = PassPlan(statistics=PassStatistics(examined=sorted(self._observed | cluster.workloads.keys())))
        self._observed = set(cluster.workloads)
        self.journal.passed(CompletedPass(cluster, plan, done, now_ms, 5))


def view(body: Body) -> Workload:
    parsed: Workload = read(kinds.WORKLOADS, body)
    return parsed


def wrote(body: Body, status: WorkloadStatus) -> PlannedWrite:
    workload = view(body)
    return PlannedWrite(workload.key, status_patch(workload, status))


def finished(body: Body, *, succeeded: bool = True, now_ms: int = NOW_MS) -> PlannedWrite:
    return wrote(body, transitions.finish(view(body).status, JobOutcome(succeeded, "done"), now_ms))


def with_status(body: Body, status: WorkloadStatus) -> Body:
    return {**body, "status": msgspec.json.decode(msgspec.json.encode(status))}


def running(**meta: Any) -> Body:
    return workload_body(ray_job("dev"), *RUNS, **meta)


def test_finished_workload_is_recorded_with_its_gang_and_times() -> None:
    recorded = Recorded()
    body = running()
    recorded.observe(body)
    assert recorded.records == []
    recorded.observe(body, done=[finished(body)])
    (record,) = recorded.records
    assert (record.namespace, record.name, record.kind) == ("team-a", "dev", "RayJob")
    assert (record.queue, record.priority_class) == ("team-a", "dev-priority")
    assert record.outcome is WorkloadOutcome.SUCCEEDED
    assert [(s.name, s.count, s.requests.get(GPU)) for s in record.pod_sets] == [
        ("head", 1, None),
        ("gpu", 4, "1"),
        ("submitter", 1, None),
    ]
    assert record.admitted_at == record.started_at == record.created_at
    assert record.created_at.timestamp() * 1000 == millis(CREATED)
    assert record.finished_at is not None
    assert record.finished_at.timestamp() * 1000 == NOW_MS


def test_estimates_of_the_start_are_recorded() -> None:
    recorded, body = Recorded(), running()
    simulated = SimulatedWait(1_500, 60_000, 90_000, 120_000)
    recorded.estimates[view(body).metadata.uid] = (EstimateOutcome(NOW_MS, simulated, 75_500, True),)
    recorded.observe(body, done=[finished(body)])
    (record,) = recorded.records
    assert record.estimates == (EstimateRecord(waited=1.5, p10=60, p50=90, p90=120, actual=75.5),)


def test_claimed_devices_are_recorded() -> None:
    queue, *_ = local_stack()[kinds.CLUSTER_QUEUES]
    queue["metadata"]["annotations"] = {DEVICE_CLASSES: '{"gpu.nvidia.com": "nvidia.com/gpu"}'}
    requests = [{"name": "gpus", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}]
    metadata = {"name": "two-gpus", "namespace": "team-a"}
    claims = {"metadata": metadata, "spec": {"spec": {"devices": {"requests": requests}}}}
    worker = template("worker", cpu=1)
    worker["spec"]["resourceClaims"] = [{"name": "gpus", "resourceClaimTemplateName": "two-gpus"}]
    recorded, body = Recorded(), workload_body(ray_job("dev", worker=worker), *RUNS)
    others: dict[Kind[Any], list[Body]] = {
        kinds.CLUSTER_QUEUES: [queue],
        kinds.RESOURCE_CLAIM_TEMPLATES: [claims],
    }
    recorded.observe(body, done=[finished(body)], others=others)
    (record,) = recorded.records
    assert [s.requests.get(GPU) for s in record.pod_sets] == [None, "2", None]


def test_topology_requests_are_recorded() -> None:
    worker = template("worker", cpu=1, gpu=1)
    worker["metadata"] = {"annotations": {REQUIRED_TOPOLOGY: "rack"}}
    recorded, body = Recorded(), workload_body(ray_job("dev", worker=worker), *RUNS)
    recorded.observe(body, done=[finished(body)])
    (record,) = recorded.records
    requested = [of.topology.required if of.topology else None for of in record.pod_sets]
    assert requested == [None, "rack", None]


def test_time_when_a_gang_recovered_is_not_its_start() -> None:
    recorded, body = Recorded(), running()
    recovered = transitions.pods_ready(view(body).status, Readiness.RECOVERED, NOW_MS)
    later = with_status(body, recovered)
    recorded.observe(later, done=[finished(later, now_ms=NOW_MS + MINUTE_MS)])
    (record,) = recorded.records
    assert (record.admitted_at, record.started_at) == (record.created_at, None)


def test_failed_job_is_recorded_as_such() -> None:
    recorded = Recorded()
    recorded.observe(running(), done=[finished(running(), succeeded=False)])
    assert [record.outcome for record in recorded.records] == [WorkloadOutcome.FAILED]


def test_finished_workload_is_recorded_once() -> None:
    recorded = Recorded()
    body = running()
    over = with_status(body, transitions.finish(view(body).status, JobOutcome(True, ""), NOW_MS))
    recorded.observe(body, done=[finished(body)])
    recorded.observe(over)
    recorded.observe(over, done=[wrote(over, view(over).status)])
    recorded.observe()  # its TTL has ended
    assert [record.outcome for record in recorded.records] == [WorkloadOutcome.SUCCEEDED]


def test_workload_that_its_creator_finished_is_recorded_once() -> None:
    """Without a job, the controller writes no end."""
    recorded = Recorded()
    running = workload_without_job("batch", "QuotaReserved", "Admitted")
    recorded.observe(running)
    ended = workload_without_job("batch", "QuotaReserved", "Admitted", "Finished")
    recorded.observe(ended)
    recorded.observe(ended)
    recorded.observe()
    assert [(record.name, record.outcome) for record in recorded.records] == [
        ("batch", WorkloadOutcome.FAILED)
    ]


def test_deleted_workload_is_recorded_as_deleted() -> None:
    recorded = Recorded()
    recorded.observe(running())
    recorded.observe(now_ms=NOW_MS + MINUTE_MS)
    recorded.observe(now_ms=NOW_MS + 2 * MINUTE_MS)
    (record,) = recorded.records
    assert record.outcome is WorkloadOutcome.DELETED
    assert record.finished_at is not None
    assert record.finished_at.timestamp() * 1000 == NOW_MS + MINUTE_MS


def test_workload_deleted_while_it_waited_has_no_admission() -> None:
    recorded = Recorded()
    recorded.observe(workload_body(ray_job("dev")))
    recorded.observe()
    (record,) = recorded.records
    assert (record.outcome, record.admitted_at, record.queue) == (WorkloadOutcome.DELETED, None, "team-a")


def test_deactivated_workload_is_recorded_once_its_quota_is_released() -> None:
    recorded = Recorded()
    inactive = workload_body(ray_job("dev"), active=False)
    recorded.observe(running(active=False))
    assert recorded.records == []
    recorded.observe(inactive)
    recorded.observe(inactive)
    assert [record.outcome for record in recorded.records] == [WorkloadOutcome.DEACTIVATED]
    recorded.observe(workload_body(ray_job("dev")))
    recorded.observe(inactive)
    assert len(recorded.records) == 2  # it was activated, and deactivated again


def test_evictions_are_recorded_once_each() -> None:
    recorded = Recorded()
    body = running()
    for number in (1, 2):
        at_ms = NOW_MS + number * MINUTE_MS
        evicted = transitions.preempt(view(body).status, "InClusterQueue", "why", at_ms)
        recorded.observe(body, done=[wrote(body, evicted)])
        again = with_status(body, evicted)
        recorded.observe(again, done=[wrote(again, view(again).status)])
    recorded.observe(body, done=[finished(body)])
    (record,) = recorded.records
    assert [(eviction.at.timestamp() * 1000, eviction.reason) for eviction in record.evictions] == [
        (NOW_MS + MINUTE_MS, "Preempted"),
        (NOW_MS + 2 * MINUTE_MS, "Preempted"),
    ]


def test_new_leader_records_what_finished_in_the_last_hour() -> None:
    recorded = Recorded()
    recent, old = running(name="recent", uid="r"), running(name="old", uid="o")
    bodies = [
        with_status(body, transitions.finish(view(body).status, JobOutcome(True, ""), NOW_MS - ago_ms))
        for body, ago_ms in ((recent, 10 * MINUTE_MS), (old, 100 * MINUTE_MS))
    ]
    recorded.observe(*bodies)
    assert [record.uid for record in recorded.records] == ["r"]
    recorded.observe()
    assert len(recorded.records) == 1


def test_refused_write_is_not_recorded() -> None:
    recorded = Recorded()
    recorded.observe(running(), done=[])
    assert recorded.records == []


def test_nothing_is_kept_of_workloads_that_are_gone() -> None:
    recorded = Recorded()
    body = running()
    evicted = transitions.preempt(view(body).status, "InClusterQueue", "why", NOW_MS)
    recorded.observe(body, done=[wrote(body, evicted), finished(body)])
    recorded.observe()
    state = recorded.journal.__dict__
    assert {name: value for name, value in state.items() if isinstance(value, dict | set) and value} == {}
