"""One pass on worlds made by hand: from objects to writes."""

from typing import Any

import pytest

from muster.admission.lifecycle import WaitForPodsReady
from muster.cluster.jobs.pod_checks import DryRunResult, PodChecks, key_of
from muster.configuration.configuration import Configuration
from muster.controller.passes.reconcile import reconcile
from muster.kube import kinds
from muster.kube.writes import MergePatch
from tests.simulation.manifests import (
    CHECK,
    WORKER,
    cluster_queue,
    quotas,
    ray_cluster_spec,
    ray_job,
    ray_service,
)
from tests.unit.controller.builders import (
    CREATED,
    NOW_MS,
    REQUEST,
    Body,
    condition,
    limit_range,
    make_cluster,
    pod,
    request,
    request_template,
    runtime_class,
    stored,
    workload_body,
)
from tests.unit.controller.passes.pass_cases import (
    DEV,
    EVICTED,
    FINALIZER,
    HOLDS,
    LEAVING,
    LLM,
    NO_REQUESTS,
    PROD,
    RUNS,
    Case,
    backing_off,
    check_writes,
    child,
    cluster,
    described,
    dev,
    of_dev,
    of_prod,
    prod,
    service,
)

GVISOR = ray_cluster_spec(4, worker=WORKER | {"spec": {**WORKER["spec"], "runtimeClassName": "gvisor"}})
NO_CLIENT: Any = None


def ended(name: str) -> Body:
    body = ray_job(name, suspend=False)
    return stored({**body, "status": {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}})


def of_dev_in_gvisor() -> Body:
    return workload_body(ray_job("dev", rayClusterSpec=GVISOR))


def of_service(*true: str, **fields: Any) -> Body:
    return workload_body(ray_service("llm", workers=4), *true, **fields)


GONE_FOR_GOOD = f"patch {DEV} {{'finalizers': []}}"


def readmitted() -> Body:
    """Returns dev's Workload, evicted and admitted again."""
    body = of_dev(*EVICTED)
    for entry in body["status"]["conditions"]:
        if entry["type"] == "Evicted":
            entry["status"] = "False"
    return body


def answered(state: str, *true: str) -> Body:
    """Returns dev's Workload with its check in this state, with a message."""
    body = of_dev(*true, check=state, tries=1)
    body["status"]["admissionChecks"][0]["message"] = "out of stock"
    return body


CASES: dict[str, Case] = {
    # jobs and their Workloads
    "a new job gets its Workload": Case(cluster(dev()), [f"create Workload {DEV}"]),
    "a finished job gets no Workload": Case(cluster(dev("Complete"))),
    "a job being deleted gets no Workload": Case(cluster(dev(**LEAVING))),
    "a job without a queue gets no Workload": Case(cluster(stored(ray_job("dev", queue="")))),
    "a Workload without a job is deleted": Case(
        cluster(of_dev()), [f"delete Workload {DEV}"], waits=[f"{DEV}: waits=Misconfigured"]
    ),
    # decisions
    "a gang that fits is admitted": Case(cluster(dev(), of_dev()), then=[f"{DEV}: QuotaReserved Admitted"]),
    "a gang with a check gets quota first": Case(
        cluster(dev(), of_dev(), check=True), then=[f"{DEV}: QuotaReserved check=Pending"]
    ),
    "the gang with the higher priority is admitted first": Case(
        cluster(dev(), prod(), of_dev(), of_prod()),
        then=[f"{PROD}: QuotaReserved Admitted"],
        waits=[f"{DEV}: waits=WaitingForQuota"],
    ),
    "a higher priority preempts": Case(
        cluster(dev("Running", suspend=False), prod(), of_dev(*RUNS, "PodsReady"), of_prod()),
        [f"{DEV}: QuotaReserved Admitted PodsReady Evicted Preempted"],
        waits=[f"{PROD}: waits=WaitingForPreemptedWorkloads"],
    ),
    "a preempted gang is not started": Case(
        cluster(dev(), prod(), of_dev(*RUNS), of_prod()),
        [f"{DEV}: QuotaReserved Admitted Evicted Preempted"],
        waits=[f"{PROD}: waits=WaitingForPreemptedWorkloads"],
    ),
    "a refused gang waits": Case(
        {**cluster(dev(), of_dev()), kinds.LOCAL_QUEUES: []}, waits=[f"{DEV}: waits=Misconfigured"]
    ),
    "a gang of a namespace that its queue does not select waits": Case(
        cluster(dev(), of_dev(), namespaceSelector={"matchLabels": {"team": "b"}}),
        waits=[f"{DEV}: waits=Misconfigured"],
    ),
    "a queue may select a namespace by name": Case(
        cluster(
            dev(), of_dev(), namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "team-a"}}
        ),
        then=[f"{DEV}: QuotaReserved Admitted"],
    ),
    "a gang beyond the limits of its namespace waits": Case(
        {**cluster(dev(), of_dev()), kinds.LIMIT_RANGES: [limit_range(max={"cpu": "1"})]},
        waits=[f"{DEV}: waits=Misconfigured"],
    ),
    "default requests of a namespace need quota": Case(
        {
            **cluster(dev(), of_dev()),
            kinds.LIMIT_RANGES: [limit_range(defaultRequest={"example.com/fpga": "1"})],
        },
        waits=[f"{DEV}: waits=NoMatchingFlavor"],
    ),
    "the overhead of a RuntimeClass needs quota": Case(
        {
            **cluster(dev(spec={"rayClusterSpec": GVISOR}), of_dev_in_gvisor()),
            kinds.RUNTIME_CLASSES: [runtime_class(cpu="8")],
        },
        waits=[f"{DEV}: waits=ExceedsMaxQuota"],
    ),
    "limits of another namespace do not count": Case(
        {**cluster(dev(), of_dev()), kinds.LIMIT_RANGES: [limit_range("team-b", max={"cpu": "1"})]},
        then=[f"{DEV}: QuotaReserved Admitted"],
    ),
    "a back-off is kept": Case(
        cluster(dev(), backing_off()), waits=[f"{DEV}: Evicted Requeued waits=PendingEvaluation"]
    ),
    "a job being deleted is not admitted": Case(
        cluster(dev(**LEAVING), of_dev()), [f"delete Workload {DEV}"], waits=[f"{DEV}: waits=Misconfigured"]
    ),
    "a drained queue evicts its gangs": Case(
        cluster(dev("Running", suspend=False), of_dev(*RUNS, "PodsReady"), stopPolicy="HoldAndDrain"),
        [f"{DEV}: QuotaReserved Admitted PodsReady Evicted"],
    ),
    # provisioning
    "capacity is requested": Case(
        cluster(dev(), of_dev(*HOLDS, check="Pending"), check=True),
        [f"create PodTemplate ppt-{REQUEST}-gpu", f"create ProvisioningRequest {REQUEST}"],
    ),
    "requested capacity is waited for": Case(
        cluster(dev(), of_dev(*HOLDS, check="Pending"), request(), request_template(), check=True)
    ),
    "a gang with provisioned capacity is admitted": Case(
        cluster(dev(), of_dev(*HOLDS, check="Pending"), request("Provisioned"), check=True),
        [f"{DEV}: QuotaReserved Admitted check=Ready"],
    ),
    "a stock-out evicts": Case(
        cluster(dev(), of_dev(*HOLDS, check="Pending"), request("Failed"), check=True),
        [f"{DEV}: QuotaReserved Evicted check=Pending"],
    ),
    "a rejected check deactivates a gang": Case(
        cluster(dev(), answered("Rejected", *HOLDS), check=True),
        [f"{DEV}: QuotaReserved DeactivationTarget check=Rejected"],
    ),
    "a rejected check deactivates a running gang": Case(
        cluster(dev("Running", suspend=False), answered("Rejected", *RUNS, "PodsReady"), check=True),
        [f"{DEV}: QuotaReserved Admitted PodsReady DeactivationTarget check=Rejected"],
    ),
    "a gang with a deactivation target becomes inactive": Case(
        cluster(dev(), answered("Rejected", *HOLDS, "DeactivationTarget"), check=True),
        [f"patch {DEV} {{'active': False}}"],
    ),
    "an inactive gang is evicted": Case(
        cluster(dev(), of_dev(*HOLDS, active=False)), [f"{DEV}: QuotaReserved Evicted"]
    ),
    # starting, running, ending
    "an admitted gang is started": Case(cluster(dev(), of_dev(*RUNS)), ["start dev"]),
    "a gang admitted again is started": Case(cluster(dev(), readmitted()), ["start dev"]),
    "it is not started before its operator has stopped it": Case(cluster(dev("Suspending"), of_dev(*RUNS))),
    "it is not started while old pods exist": Case(cluster(dev(), of_dev(*RUNS), pod(f"uid-{DEV}"))),
    "pods with the label alone count, and are deleted": Case(
        cluster(dev(), of_dev(*RUNS), pod(f"uid-{DEV}", ownerReferences=[]), child("another")),
        stops=["delete Pod pod"],
    ),
    "it is not started while its old RayCluster exists": Case(cluster(dev(), of_dev(*RUNS), child())),
    "a running job has ready pods": Case(
        cluster(dev("Running", suspend=False), of_dev(*RUNS)), [f"{DEV}: QuotaReserved Admitted PodsReady"]
    ),
    "a starting job is not changed": Case(cluster(dev(suspend=False), of_dev(*RUNS))),
    "a job that ended is finished": Case(
        cluster(dev("Complete", suspend=False, status={"jobStatus": "SUCCEEDED"}), of_dev(*RUNS), request()),
        [f"{DEV}: QuotaReserved Admitted Finished", *NO_REQUESTS],
    ),
    "pods of a finished job hold its quota": Case(
        cluster(ended("dev"), of_dev(*RUNS, "Finished"), pod(f"uid-{DEV}"))
    ),
    "a finished job is stopped if another waits for its quota": Case(
        cluster(ended("dev"), of_dev(*RUNS, "Finished"), child(), prod(), of_prod(), preemption={}),
        ["stop dev-1"],
        waits=[f"{PROD}: waits=WaitingForQuota"],
    ),
    "a finished job is stopped before any preemption": Case(
        cluster(ended("dev"), of_dev(*RUNS, "Finished"), child(), prod(), of_prod()),
        ["stop dev-1"],
        waits=[f"{PROD}: waits=WaitingForPreemptedWorkloads"],
    ),
    "a finished job without pods releases its quota": Case(
        cluster(ended("dev"), of_dev(*RUNS, "Finished"), prod(), of_prod()),
        [f"patch {DEV} {{'finalizers': []}}"],
        [f"{PROD}: QuotaReserved Admitted"],
    ),
    "a finished job that runs again without quota is stopped": Case(
        cluster(ended("dev"), of_dev(*RUNS, "Finished", finalizers=[]), child()), ["stop dev-1"]
    ),
    "a gang that was started by hand is stopped": Case(
        cluster(dev("Running", suspend=False), prod(), of_dev(), of_prod()),
        then=[f"{PROD}: QuotaReserved Admitted"],
        waits=[f"{DEV}: waits=WaitingForQuota"],
        stops=["stop dev"],
    ),
    "a gang with a blocked suspension may not start again": Case(
        cluster(dev("Suspending"), of_dev("SuspensionBlocked")),
        [f"{DEV}: SuspensionBlocked waits=Misconfigured"],
    ),
    # evictions
    "an evicted job is stopped": Case(
        cluster(dev("Running", suspend=False), of_dev(*EVICTED)), stops=["stop dev"]
    ),
    "it releases its quota before it gets quota again": Case(
        cluster(dev(), of_dev(*EVICTED)), [f"{DEV}: Evicted Requeued waits=Pending"]
    ),
    "it holds its quota while its operator stops it": Case(cluster(dev("Suspending"), of_dev(*EVICTED))),
    "it holds its quota while a pod exists": Case(cluster(dev(), of_dev(*EVICTED), pod(f"uid-{DEV}"))),
    "it holds its quota while its RayCluster exists": Case(cluster(dev(), of_dev(*EVICTED), child())),
    "a stopped gang loses its requests first": Case(cluster(dev(), of_dev(*EVICTED), request()), NO_REQUESTS),
    "deletions of its requests are waited for": Case(cluster(dev(), of_dev(*EVICTED), request(**LEAVING))),
    "a stopped gang releases its quota": Case(
        cluster(dev(), prod(), of_dev(*EVICTED), of_prod()),
        [f"{DEV}: Evicted Requeued waits=WaitingForQuota"],
        [f"{PROD}: QuotaReserved Admitted"],
    ),
    "an ended pod holds no quota": Case(
        cluster(dev(), prod(), of_dev(*EVICTED), of_prod(), pod(f"uid-{DEV}", phase="Succeeded")),
        [f"{DEV}: Evicted Requeued waits=WaitingForQuota"],
        [f"{PROD}: QuotaReserved Admitted"],
    ),
    # deletions
    "a deleted Workload stops its job": Case(
        cluster(dev("Running", suspend=False), of_dev(*RUNS, "PodsReady", **LEAVING, **FINALIZER)),
        stops=["stop dev"],
    ),
    "a deleted Workload is kept while a pod exists": Case(
        cluster(dev(), of_dev(*RUNS, **LEAVING, **FINALIZER), pod(f"uid-{DEV}"))
    ),
    "a deleted Workload is kept while it has requests": Case(
        cluster(dev(), of_dev(*RUNS, **LEAVING, **FINALIZER), request()), NO_REQUESTS
    ),
    "a deleted Workload loses its finalizer": Case(
        cluster(dev(), of_dev(*RUNS, **LEAVING, **FINALIZER)), [GONE_FOR_GOOD]
    ),
    "the Workload of a deleted job is kept while a pod exists": Case(
        cluster(of_dev(*RUNS, **LEAVING, **FINALIZER), pod(f"uid-{DEV}"))
    ),
    "the Workload of a deleted job is kept while its RayCluster exists": Case(
        cluster(of_dev(*RUNS, **LEAVING, **FINALIZER), child())
    ),
    "a deleted Workload of an ended job loses its finalizer": Case(
        cluster(
            dev("Complete", suspend=False), of_dev(*RUNS, "PodsReady", "Finished", **LEAVING, **FINALIZER)
        ),
        [GONE_FOR_GOOD],
    ),
    "a job in foreground deletion is never suspended, and not waited for": Case(
        cluster(dev("Running", suspend=False, **LEAVING), of_dev(*RUNS, "PodsReady", **LEAVING, **FINALIZER)),
        [GONE_FOR_GOOD],
    ),
    # RayServices
    "a new service gets its Workload": Case(cluster(service()), [f"create Workload {LLM}"]),
    "an admitted service is started": Case(
        cluster(service(), of_service(*RUNS), child("llm", suspend=True, rests=True)), ["start llm"]
    ),
    "a service is not started before its cluster is at rest": Case(
        cluster(service(), of_service(*RUNS), child("llm", suspend=True)),
    ),
    "an evicted service is stopped": Case(
        cluster(service(suspend=False, placed=True), of_service(*EVICTED), child("llm")), stops=["stop llm"]
    ),
    "a service is stopped after KubeRay has observed its start": Case(
        cluster(
            service(suspend=False, placed=True),
            of_service(*EVICTED),
            child("llm", suspend=True, rests=True),
        )
    ),
    "a service holds its quota until its cluster is suspended": Case(
        cluster(service(), of_service(*EVICTED), child("llm")),
    ),
    "a service holds its quota until its cluster is at rest": Case(
        cluster(service(), of_service(*EVICTED), child("llm", suspend=True)),
    ),
    "a service with its cluster at rest releases its quota": Case(
        cluster(service(), prod(), of_service(*EVICTED), of_prod(), child("llm", suspend=True, rests=True)),
        [f"{LLM}: Evicted Requeued waits=WaitingForQuota"],
        [f"{PROD}: QuotaReserved Admitted"],
    ),
    "a service that was started by hand is stopped immediately": Case(
        cluster(service(suspend=False), prod(), of_service(), of_prod()),
        then=[f"{PROD}: QuotaReserved Admitted"],
        waits=[f"{LLM}: waits=WaitingForQuota"],
        stops=["stop llm"],
    ),
    # refused writes
    "a gang held back keeps its place without writes": Case(
        cluster(dev(), prod(), of_dev(), of_prod()),
        waits=[f"{DEV}: waits=WaitingForQuota"],
        backing_off={f"team-a/{PROD}"},
    ),
    "a refused gang held back is not admitted": Case(
        cluster(dev("ValidationFailed"), of_dev()), backing_off={f"team-a/{DEV}"}
    ),
    "a gang held back is not started": Case(cluster(dev(), of_dev(*RUNS)), backing_off={f"team-a/{DEV}"}),
    "a job that is held back gets no Workload": Case(cluster(dev()), backing_off={"uid-dev"}),
}


@pytest.mark.parametrize("name", CASES)
def test_writes_of_a_pass(name: str) -> None:
    check_writes(CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_a_pass_does_not_change_its_world(name: str) -> None:
    """The same cluster gives the same writes."""
    case = CASES[name]
    assert [described(s) for s in case.run().writes.before_reservations] == [
        described(s) for s in case.run().writes.before_reservations
    ]


def test_the_controller_wakes_up_at_the_end_of_a_back_off() -> None:
    assert CASES["a back-off is kept"].run().wake_at_ms == NOW_MS + 60_000


def test_the_controller_wakes_up_at_the_end_of_the_execution_time() -> None:
    running = of_dev(*RUNS, "PodsReady")
    running["spec"]["maximumExecutionTimeSeconds"] = 600
    result = Case(cluster(dev("Running", suspend=False), running)).run()
    assert (result.writes.before_reservations, result.wake_at_ms) == ([], NOW_MS - 60_000 + 600_000)


def test_the_controller_wakes_up_at_the_earliest_of_these() -> None:
    running, pausing = of_dev(*RUNS, "PodsReady"), workload_body(ray_job("prod", priority="prod-priority"))
    running["spec"]["maximumExecutionTimeSeconds"] = 600
    pausing["status"] = backing_off()["status"]
    result = Case(cluster(dev("Running", suspend=False), prod(), running, pausing)).run()
    assert result.wake_at_ms == NOW_MS + 60_000


def test_block_admission_waits_for_the_pods_of_earlier_gangs() -> None:
    """Both gangs fit, and the first one has quota but no pods yet."""
    wait = Configuration(wait_for_pods_ready=WaitForPodsReady(block_admission=True))
    objects = cluster(dev(), prod(), of_dev(*RUNS), of_prod())
    objects[kinds.CLUSTER_QUEUES] = [
        cluster_queue(
            "team-a",
            quotas("cpu", cpu=80, memory="640Gi", gpu=0),
            quotas("l4", cpu=80, memory="640Gi", gpu=8),
        )
    ]
    result = reconcile(make_cluster(objects), NOW_MS, (), wait)
    assert [described(s) for s in result.writes.wait_reasons] == [f"{PROD}: waits=WaitingForPodsReady"]
    assert result.writes.reservations == []
    assert [described(s) for s in reconcile(make_cluster(objects), NOW_MS).writes.reservations] == [
        f"{PROD}: QuotaReserved Admitted"
    ]


def test_a_deactivation_has_the_message_of_its_check() -> None:
    (planned,) = CASES["a rejected check deactivates a gang"].run().writes.before_reservations
    assert isinstance(planned.write, MergePatch)
    conditions = {c["type"]: c for c in planned.write.body["status"]["conditions"]}
    message = f'AdmissionCheck in Rejected state: "{CHECK}" (out of stock)'
    assert conditions["DeactivationTarget"]["message"] == message
    assert [(n.reason, n.message, n.warning) for n in planned.events] == [
        ("AdmissionCheckRejected", f"Deactivated due to {message}", True)
    ]


def test_a_preemption_names_the_preemptor() -> None:
    (planned,) = CASES["a higher priority preempts"].run().writes.before_reservations
    assert isinstance(planned.write, MergePatch)
    conditions = {c["type"]: c for c in planned.write.body["status"]["conditions"]}
    message = (
        f"Preempted to accommodate workload team-a/{PROD} (UID: uid-{PROD}) of priority 1000 due to "
        "InClusterQueue"
    )
    assert conditions["Preempted"]["message"] == conditions["Evicted"]["message"] == message
    assert {n.reason for n in planned.events} == {"Preempted", "EvictedDueToPreempted"}


VACATED = (
    "a deleted Workload loses its finalizer",
    "a stopped gang releases its quota",
    "an ended pod holds no quota",
    "a gang admitted again is started",
)


@pytest.mark.parametrize("name", VACATED)
def test_releases_and_restarts_need_a_fresh_list_of_pods(name: str) -> None:
    (planned,) = CASES[name].run().writes.before_reservations
    assert planned.requires_no_pods_of == f"uid-{DEV}"


def test_a_first_start_needs_no_list_of_pods() -> None:
    (planned,) = CASES["an admitted gang is started"].run().writes.before_reservations
    assert planned.requires_no_pods_of == ""


def test_an_unchanged_wait_message_is_not_written_again() -> None:
    waiting = of_dev()
    (planned,) = reconcile(
        make_cluster({**cluster(dev(), waiting), kinds.LOCAL_QUEUES: []}), NOW_MS
    ).writes.wait_reasons
    assert isinstance(planned.write, MergePatch)
    waiting["status"] = planned.write.body["status"]
    assert (
        reconcile(
            make_cluster({**cluster(dev(), waiting), kinds.LOCAL_QUEUES: []}), NOW_MS + 5
        ).writes.wait_reasons
        == []
    )


def test_new_quota_ends_an_older_eviction() -> None:
    waiting = of_dev("Evicted", "Preempted")
    assert condition("Evicted")["lastTransitionTime"] == CREATED
    (planned,) = reconcile(make_cluster(cluster(dev(), waiting)), NOW_MS).writes.reservations
    assert described(planned) == f"{DEV}: QuotaReserved Admitted"


def test_a_new_gang_waits_for_the_check_of_its_pods() -> None:
    """Ray's schema accepts invalid pods, which would hold quota forever."""
    observed = make_cluster(cluster(dev(), of_dev()))
    job = observed.job_of(observed.workloads[f"team-a/{DEV}"])
    assert job is not None
    observed.pod_checks = PodChecks(NO_CLIENT, lambda: None, lambda: 0.0)
    waiting = reconcile(observed, NOW_MS)
    assert (waiting.writes.reservations, waiting.writes.wait_reasons) == ([], [])
    observed.pod_checks._results[key_of(job)] = DryRunResult("", 0, 600.0)
    assert [described(s) for s in reconcile(observed, NOW_MS).writes.reservations] == [
        f"{DEV}: QuotaReserved Admitted"
    ]
    observed.pod_checks._results[key_of(job)] = DryRunResult("no such container name", 1, 2.0)
    assert [described(s) for s in reconcile(observed, NOW_MS).writes.wait_reasons] == [
        f"{DEV}: waits=Misconfigured"
    ]


def test_the_pods_of_a_gang_are_checked_while_its_workload_is_created() -> None:
    """So that the first decision need not wait for the answer."""
    new = make_cluster(cluster(dev()))
    (job,) = (job for owner in new.job_identities if (job := new.job(owner)) is not None)
    new.pod_checks = PodChecks(NO_CLIENT, lambda: None, lambda: 0.0)
    assert [str(p.write.kind) for p in reconcile(new, NOW_MS).writes.before_reservations if p.deferrable] == [
        "Workload"
    ]
    assert list(new.pod_checks._gangs) == [key_of(job)]
