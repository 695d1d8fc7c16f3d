"""One pass on worlds made by hand: from what is there to what is written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from muster.admission.lifecycle import WaitForPodsReady
from muster.controller.actions import Step
from muster.controller.configuration import Configuration
from muster.controller.pod_checks import Answer, PodChecks, key_of
from muster.controller.reconcile import Pass, reconcile
from muster.controller.templates import WORKLOAD_UID_LABEL
from muster.controller.workloads import workload_name
from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.kube.writes import JsonPatch, MergePatch, Overwrite
from muster.objects.meta import rfc3339
from muster.objects.ray import ORIGIN_LABEL
from tests.simulation.manifests import (
    CHECK,
    PREEMPTION,
    WORKER,
    cluster_queue,
    quotas,
    ray_cluster,
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
    controlled_by,
    limit_range,
    make_world,
    pod,
    request,
    request_template,
    runtime_class,
    stored,
    workload_body,
)

DEV, PROD = "rayjob-dev-0b2fb", "rayjob-prod-7b627"
LLM = workload_name("RayService", "ray.io/v1", "llm", "uid-llm")
JOB_KIND_OF = {"llm": kinds.RAY_SERVICES}
Objects = dict[Kind[Any], list[Body]]
GVISOR = ray_cluster_spec(4, worker=WORKER | {"spec": {**WORKER["spec"], "runtimeClassName": "gvisor"}})
NO_CLIENT: Any = None
LEAVING: dict[str, Any] = {"deletionTimestamp": "2027-01-15T08:00:00Z"}


def dev(
    state: str = "Suspended",
    *,
    suspend: bool = True,
    status: Body | None = None,
    spec: Body | None = None,
    **meta: Any,
) -> Body:
    body = ray_job("dev", suspend=suspend, **(spec or {}))
    return stored({**body, "status": {"jobDeploymentStatus": state, **(status or {})}}, **meta)


def ended(name: str) -> Body:
    body = ray_job(name, suspend=False)
    return stored({**body, "status": {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}})


def prod() -> Body:
    body = ray_job("prod", priority="prod-priority")
    return stored({**body, "status": {"jobDeploymentStatus": "Suspended"}})


def of_dev(*true: str, **fields: Any) -> Body:
    return workload_body(ray_job("dev"), *true, **fields)


def of_dev_in_gvisor() -> Body:
    return workload_body(ray_job("dev", rayClusterSpec=GVISOR))


def of_prod() -> Body:
    return workload_body(ray_job("prod", priority="prod-priority"))


def child(of: str = "dev", *, suspend: bool = False, rests: bool = False) -> Body:
    """The RayCluster that KubeRay made for a job."""
    body = ray_cluster(f"{of}-1")
    body["spec"]["suspend"] = suspend
    body["status"] = {"conditions": [{"type": "RayClusterSuspended", "status": str(rests)}]}
    kind = JOB_KIND_OF.get(of, kinds.RAY_JOBS)
    return stored(body, ownerReferences=[controlled_by(kind, of)], labels={ORIGIN_LABEL: kind.name})


def service(*, suspend: bool = True, placed: bool = False) -> Body:
    """`placed`: as a start leaves it, though one without nodes of its own."""
    body = ray_service("llm", workers=4)
    body["spec"]["rayClusterConfig"]["suspend"] = suspend
    if placed:
        head = body["spec"]["rayClusterConfig"]["headGroupSpec"]
        head["template"] = {**head["template"], "metadata": {"labels": {WORKLOAD_UID_LABEL: f"uid-{LLM}"}}}
    return stored(body)


def of_service(*true: str, **fields: Any) -> Body:
    return workload_body(ray_service("llm", workers=4), *true, **fields)


def queues(check: bool = False, **spec: Any) -> Objects:
    """One ClusterQueue, and room for one gang of four."""
    flavors = quotas("cpu", cpu=8, memory="64Gi", gpu=0), quotas("l4", cpu=16, memory="64Gi", gpu=4)
    spec = {"preemption": PREEMPTION, **spec}
    return {kinds.CLUSTER_QUEUES: [cluster_queue("team-a", *flavors, check=check, **spec)]}


def world(*objects: Body, **kwargs: Any) -> Objects:
    """Told apart by what is in them."""
    sorted_out: Objects = {}
    for body in objects:
        sorted_out.setdefault(kind_of(body), []).append(body)
    return {**queues(**kwargs), **sorted_out}


def kind_of(body: Body) -> Kind[Any]:
    name, spec = body["metadata"]["name"], body.get("spec", {})
    if "podSets" in spec:
        return kinds.PROVISIONING_REQUESTS if CHECK in name else kinds.WORKLOADS
    if "headGroupSpec" in spec:
        return kinds.RAY_CLUSTERS
    if "template" in body:
        return kinds.POD_TEMPLATES
    if "rayClusterConfig" in spec:
        return kinds.RAY_SERVICES
    return kinds.RAY_JOBS if "rayClusterSpec" in spec else kinds.PODS


def told(step: Step) -> str:
    """A write in a few words: for a status what is True, the states of checks, and why it waits."""
    write = step.write
    if isinstance(write, JsonPatch):
        (suspend,) = [op for op in write.operations if op["path"].endswith("/suspend")]
        assert suspend["value"] is False
        return f"start {write.key.rpartition('/')[2]}"
    if isinstance(write, Overwrite):
        return f"stop {write.key.rpartition('/')[2]}"
    if not isinstance(write, MergePatch):
        return str(write).replace("team-a/", "")
    name = write.key.rpartition("/")[2]
    if not write.status:
        return f"patch {name} {write.body.get('spec') or write.body['metadata']}"
    status: Mapping[str, Any] = write.body["status"]
    true = [c["type"] for c in status["conditions"] if c["status"] == "True"]
    reasons = [
        c["reason"] for c in status["conditions"] if c["type"] == "QuotaReserved" and c["status"] == "False"
    ]
    checks = [c["state"] for c in status["admissionChecks"]]
    return " ".join([f"{name}:", *true, *(f"check={c}" for c in checks), *(f"waits={r}" for r in reasons)])


@dataclass
class Case:
    objects: Objects
    first: list[str] = field(default_factory=list)
    then: list[str] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    held_back: set[str] = field(default_factory=set)
    stops: list[str] = field(default_factory=list)

    def run(self) -> Pass:
        return reconcile(make_world(self.objects), NOW_MS, self.held_back)


HOLDS, RUNS = ("QuotaReserved",), ("QuotaReserved", "Admitted")
EVICTED = (*RUNS, "Evicted")
GONE_FOR_GOOD = f"patch {DEV} {{'finalizers': []}}"
FINALIZER = {"finalizers": ["kueue.x-k8s.io/resource-in-use"]}
NO_REQUESTS = [f"delete PodTemplate ppt-{REQUEST}-gpu", f"delete ProvisioningRequest {REQUEST}"]
FAR = rfc3339(NOW_MS + 60_000)


def backing_off() -> Body:
    body = of_dev("Evicted", "Requeued")
    body["status"]["requeueState"] = {"count": 1, "requeueAt": FAR}
    return body


def readmitted() -> Body:
    """Evicted once, and admitted again since."""
    body = of_dev(*EVICTED)
    for found in body["status"]["conditions"]:
        if found["type"] == "Evicted":
            found["status"] = "False"
    return body


def answered(state: str, *true: str) -> Body:
    """dev's Workload, whose check is in this state with a message."""
    body = of_dev(*true, check=state, tries=1)
    body["status"]["admissionChecks"][0]["message"] = "out of stock"
    return body


CASES: dict[str, Case] = {
    # jobs and their Workloads
    "a new job gets its Workload": Case(world(dev()), [f"create Workload {DEV}"]),
    "a finished job gets none": Case(world(dev("Complete"))),
    "a job on its way out gets none": Case(world(dev(**LEAVING))),
    "a job in no queue gets none": Case(world(stored(ray_job("dev", queue="")))),
    "a Workload without a job goes": Case(
        world(of_dev()), [f"delete Workload {DEV}"], waits=[f"{DEV}: waits=Misconfigured"]
    ),
    # decisions
    "a gang that fits is admitted": Case(world(dev(), of_dev()), then=[f"{DEV}: QuotaReserved Admitted"]),
    "with a check it has quota first": Case(
        world(dev(), of_dev(), check=True), then=[f"{DEV}: QuotaReserved check=Pending"]
    ),
    "of two gangs the one with the higher priority": Case(
        world(dev(), prod(), of_dev(), of_prod()),
        then=[f"{PROD}: QuotaReserved Admitted"],
        waits=[f"{DEV}: waits=WaitingForQuota"],
    ),
    "a higher priority preempts": Case(
        world(dev("Running", suspend=False), prod(), of_dev(*RUNS, "PodsReady"), of_prod()),
        [f"{DEV}: QuotaReserved Admitted PodsReady Evicted Preempted"],
        waits=[f"{PROD}: waits=WaitingForPreemptedWorkloads"],
    ),
    "who is preempted is not started any more": Case(
        world(dev(), prod(), of_dev(*RUNS), of_prod()),
        [f"{DEV}: QuotaReserved Admitted Evicted Preempted"],
        waits=[f"{PROD}: waits=WaitingForPreemptedWorkloads"],
    ),
    "who is refused waits": Case(
        {**world(dev(), of_dev()), kinds.LOCAL_QUEUES: []}, waits=[f"{DEV}: waits=Misconfigured"]
    ),
    "a namespace that its queue does not take waits": Case(
        world(dev(), of_dev(), namespaceSelector={"matchLabels": {"team": "b"}}),
        waits=[f"{DEV}: waits=Misconfigured"],
    ),
    "a namespace may be taken by its name": Case(
        world(dev(), of_dev(), namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "team-a"}}),
        then=[f"{DEV}: QuotaReserved Admitted"],
    ),
    "who asks for more than its namespace allows waits": Case(
        {**world(dev(), of_dev()), kinds.LIMIT_RANGES: [limit_range(max={"cpu": "1"})]},
        waits=[f"{DEV}: waits=Misconfigured"],
    ),
    "what a namespace gives its containers needs quota too": Case(
        {
            **world(dev(), of_dev()),
            kinds.LIMIT_RANGES: [limit_range(defaultRequest={"example.com/fpga": "1"})],
        },
        waits=[f"{DEV}: waits=NoMatchingFlavor"],
    ),
    "what a RuntimeClass adds to its pods needs quota too": Case(
        {
            **world(dev(spec={"rayClusterSpec": GVISOR}), of_dev_in_gvisor()),
            kinds.RUNTIME_CLASSES: [runtime_class(cpu="8")],
        },
        waits=[f"{DEV}: waits=ExceedsMaxQuota"],
    ),
    "another namespace's limits do not count": Case(
        {**world(dev(), of_dev()), kinds.LIMIT_RANGES: [limit_range("team-b", max={"cpu": "1"})]},
        then=[f"{DEV}: QuotaReserved Admitted"],
    ),
    "a pause is kept": Case(
        world(dev(), backing_off()), waits=[f"{DEV}: Evicted Requeued waits=PendingEvaluation"]
    ),
    "a job on its way out is not admitted": Case(
        world(dev(**LEAVING), of_dev()), [f"delete Workload {DEV}"], waits=[f"{DEV}: waits=Misconfigured"]
    ),
    "a drained queue sends all away": Case(
        world(dev("Running", suspend=False), of_dev(*RUNS, "PodsReady"), stopPolicy="HoldAndDrain"),
        [f"{DEV}: QuotaReserved Admitted PodsReady Evicted"],
    ),
    # provisioning
    "capacity is asked for": Case(
        world(dev(), of_dev(*HOLDS, check="Pending"), check=True),
        [f"create PodTemplate ppt-{REQUEST}-gpu", f"create ProvisioningRequest {REQUEST}"],
    ),
    "and waited for": Case(
        world(dev(), of_dev(*HOLDS, check="Pending"), request(), request_template(), check=True)
    ),
    "provisioned is admitted": Case(
        world(dev(), of_dev(*HOLDS, check="Pending"), request("Provisioned"), check=True),
        [f"{DEV}: QuotaReserved Admitted check=Ready"],
    ),
    "a stock-out evicts": Case(
        world(dev(), of_dev(*HOLDS, check="Pending"), request("Failed"), check=True),
        [f"{DEV}: QuotaReserved Evicted check=Pending"],
    ),
    "a rejected check takes it out of the queue": Case(
        world(dev(), answered("Rejected", *HOLDS), check=True),
        [f"{DEV}: QuotaReserved DeactivationTarget check=Rejected"],
    ),
    "also while it runs": Case(
        world(dev("Running", suspend=False), answered("Rejected", *RUNS, "PodsReady"), check=True),
        [f"{DEV}: QuotaReserved Admitted PodsReady DeactivationTarget check=Rejected"],
    ),
    "what is to be taken out of it becomes inactive": Case(
        world(dev(), answered("Rejected", *HOLDS, "DeactivationTarget"), check=True),
        [f"patch {DEV} {{'active': False}}"],
    ),
    "what is out of the queue gives its quota back": Case(
        world(dev(), of_dev(*HOLDS, active=False)), [f"{DEV}: QuotaReserved Evicted"]
    ),
    # starting, running, ending
    "what is admitted is started": Case(world(dev(), of_dev(*RUNS)), ["start dev"]),
    "what is admitted again is started": Case(world(dev(), readmitted()), ["start dev"]),
    "once its operator has stopped what was before": Case(world(dev("Suspending"), of_dev(*RUNS))),
    "not while pods of before are left": Case(world(dev(), of_dev(*RUNS), pod(f"uid-{DEV}"))),
    "those of others that only say so do not count": Case(
        world(dev(), of_dev(*RUNS), pod(f"uid-{DEV}", ownerReferences=[]), child("another")), ["start dev"]
    ),
    "nor while their RayCluster is": Case(world(dev(), of_dev(*RUNS), child())),
    "a job that runs has its pods": Case(
        world(dev("Running", suspend=False), of_dev(*RUNS)), [f"{DEV}: QuotaReserved Admitted PodsReady"]
    ),
    "a job that is told to start is left alone": Case(world(dev(suspend=False), of_dev(*RUNS))),
    "a job that ended is finished": Case(
        world(dev("Complete", suspend=False, status={"jobStatus": "SUCCEEDED"}), of_dev(*RUNS), request()),
        [f"{DEV}: QuotaReserved Admitted Finished", *NO_REQUESTS],
    ),
    "what a finished job left holds its quota": Case(
        world(ended("dev"), of_dev(*RUNS, "Finished"), pod(f"uid-{DEV}"))
    ),
    "until somebody waits for it": Case(
        world(ended("dev"), of_dev(*RUNS, "Finished"), child(), prod(), of_prod(), preemption={}),
        ["stop dev-1"],
        waits=[f"{PROD}: waits=WaitingForQuota"],
    ),
    "or would preempt, which it need not": Case(
        world(ended("dev"), of_dev(*RUNS, "Finished"), child(), prod(), of_prod()),
        ["stop dev-1"],
        waits=[f"{PROD}: waits=WaitingForPreemptedWorkloads"],
    ),
    "and until its pods are gone": Case(
        world(ended("dev"), of_dev(*RUNS, "Finished"), prod(), of_prod()),
        [f"patch {DEV} {{'finalizers': []}}"],
        [f"{PROD}: QuotaReserved Admitted"],
    ),
    "what gave its quota back and runs again is stopped": Case(
        world(ended("dev"), of_dev(*RUNS, "Finished", finalizers=[]), child()), ["stop dev-1"]
    ),
    "what was started by hand is stopped": Case(
        world(dev("Running", suspend=False), prod(), of_dev(), of_prod()),
        then=[f"{PROD}: QuotaReserved Admitted"],
        waits=[f"{DEV}: waits=WaitingForQuota"],
        stops=["stop dev"],
    ),
    "what was told to stop and has not may not start again": Case(
        world(dev("Suspending"), of_dev("SuspensionBlocked")),
        [f"{DEV}: SuspensionBlocked waits=Misconfigured"],
    ),
    # evictions
    "an evicted job is stopped": Case(
        world(dev("Running", suspend=False), of_dev(*EVICTED)), stops=["stop dev"]
    ),
    "it holds its quota while its operator is at it": Case(world(dev("Suspending"), of_dev(*EVICTED))),
    "and while a pod lives": Case(world(dev(), of_dev(*EVICTED), pod(f"uid-{DEV}"))),
    "and while its RayCluster is there": Case(world(dev(), of_dev(*EVICTED), child())),
    "then its requests go": Case(world(dev(), of_dev(*EVICTED), request()), NO_REQUESTS),
    "and are waited for": Case(world(dev(), of_dev(*EVICTED), request(**LEAVING))),
    "at last its quota": Case(
        world(dev(), prod(), of_dev(*EVICTED), of_prod()),
        [f"{DEV}: Evicted Requeued waits=WaitingForQuota"],
        [f"{PROD}: QuotaReserved Admitted"],
    ),
    "a pod that ended holds nothing": Case(
        world(dev(), prod(), of_dev(*EVICTED), of_prod(), pod(f"uid-{DEV}", phase="Succeeded")),
        [f"{DEV}: Evicted Requeued waits=WaitingForQuota"],
        [f"{PROD}: QuotaReserved Admitted"],
    ),
    # deletions
    "a deleted Workload stops its job": Case(
        world(dev("Running", suspend=False), of_dev(*RUNS, "PodsReady", **LEAVING, **FINALIZER)),
        stops=["stop dev"],
    ),
    "and is kept while a pod lives": Case(
        world(dev(), of_dev(*RUNS, **LEAVING, **FINALIZER), pod(f"uid-{DEV}"))
    ),
    "and while it has requests, which go": Case(
        world(dev(), of_dev(*RUNS, **LEAVING, **FINALIZER), request()), NO_REQUESTS
    ),
    "and then let go": Case(world(dev(), of_dev(*RUNS, **LEAVING, **FINALIZER)), [GONE_FOR_GOOD]),
    "the Workload of a deleted job is kept while a pod lives": Case(
        world(of_dev(*RUNS, **LEAVING, **FINALIZER), pod(f"uid-{DEV}"))
    ),
    "and while its RayCluster may make more": Case(world(of_dev(*RUNS, **LEAVING, **FINALIZER), child())),
    "a deleted Workload of a job that ended is let go": Case(
        world(dev("Complete", suspend=False), of_dev(*RUNS, "PodsReady", "Finished", **LEAVING, **FINALIZER)),
        [GONE_FOR_GOOD],
    ),
    "a job in foreground deletion is never suspended, and not waited for": Case(
        world(dev("Running", suspend=False, **LEAVING), of_dev(*RUNS, "PodsReady", **LEAVING, **FINALIZER)),
        [GONE_FOR_GOOD],
    ),
    # RayServices
    "a new service gets its Workload": Case(world(service()), [f"create Workload {LLM}"]),
    "an admitted service is started": Case(
        world(service(), of_service(*RUNS), child("llm", suspend=True, rests=True)), ["start llm"]
    ),
    "once its cluster is at rest": Case(
        world(service(), of_service(*RUNS), child("llm", suspend=True)),
    ),
    "an evicted service is stopped": Case(
        world(service(suspend=False, placed=True), of_service(*EVICTED), child("llm")), stops=["stop llm"]
    ),
    "when KubeRay has seen its start": Case(
        world(
            service(suspend=False, placed=True),
            of_service(*EVICTED),
            child("llm", suspend=True, rests=True),
        )
    ),
    "it holds its quota until its cluster is told": Case(
        world(service(), of_service(*EVICTED), child("llm")),
    ),
    "and until that is at rest": Case(
        world(service(), of_service(*EVICTED), child("llm", suspend=True)),
    ),
    "a cluster at rest holds nothing": Case(
        world(service(), prod(), of_service(*EVICTED), of_prod(), child("llm", suspend=True, rests=True)),
        [f"{LLM}: Evicted Requeued waits=WaitingForQuota"],
        [f"{PROD}: QuotaReserved Admitted"],
    ),
    "a service that was started by hand is stopped at once": Case(
        world(service(suspend=False), prod(), of_service(), of_prod()),
        then=[f"{PROD}: QuotaReserved Admitted"],
        waits=[f"{LLM}: waits=WaitingForQuota"],
        stops=["stop llm"],
    ),
    # refused writes
    "who is held back keeps its place, but nothing is written": Case(
        world(dev(), prod(), of_dev(), of_prod()),
        waits=[f"{DEV}: waits=WaitingForQuota"],
        held_back={f"team-a/{PROD}"},
    ),
    "who is held back is not admitted against a refusal": Case(
        world(dev("ValidationFailed"), of_dev()), held_back={f"team-a/{DEV}"}
    ),
    "who is held back is not started": Case(world(dev(), of_dev(*RUNS)), held_back={f"team-a/{DEV}"}),
    "a job that is held back gets no Workload": Case(world(dev()), held_back={"uid-dev"}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_pass(name: str) -> None:
    case = CASES[name]
    result = case.run()
    assert [told(s) for s in result.stops] == case.stops
    assert [told(s) for s in result.first] == case.first
    assert [told(s) for s in result.then] == case.then
    assert [told(s) for s in result.waits] == case.waits


@pytest.mark.parametrize("name", CASES)
def test_a_pass_changes_nothing_that_it_looks_at(name: str) -> None:
    """So the same world gives the same writes."""
    case = CASES[name]
    assert [told(s) for s in case.run().first] == [told(s) for s in case.run().first]


def test_the_end_of_a_pause_is_a_time_to_look_again() -> None:
    assert CASES["a pause is kept"].run().wake_at_ms == NOW_MS + 60_000


def test_the_end_of_its_time_is_one_too() -> None:
    running = of_dev(*RUNS, "PodsReady")
    running["spec"]["maximumExecutionTimeSeconds"] = 600
    result = Case(world(dev("Running", suspend=False), running)).run()
    assert (result.first, result.wake_at_ms) == ([], NOW_MS - 60_000 + 600_000)


def test_of_two_moments_the_earlier_is_the_time_to_look_again() -> None:
    running, pausing = of_dev(*RUNS, "PodsReady"), workload_body(ray_job("prod", priority="prod-priority"))
    running["spec"]["maximumExecutionTimeSeconds"] = 600
    pausing["status"] = backing_off()["status"]
    result = Case(world(dev("Running", suspend=False), prod(), running, pausing)).run()
    assert result.wake_at_ms == NOW_MS + 60_000


def test_admissions_wait_for_pods_where_they_are_to() -> None:
    """Both gangs fit, and the first one has quota but no pods yet."""
    wait = Configuration(wait_for_pods_ready=WaitForPodsReady(block_admission=True))
    objects = world(dev(), prod(), of_dev(*RUNS), of_prod())
    objects[kinds.CLUSTER_QUEUES] = [
        cluster_queue(
            "team-a",
            quotas("cpu", cpu=80, memory="640Gi", gpu=0),
            quotas("l4", cpu=80, memory="640Gi", gpu=8),
        )
    ]
    result = reconcile(make_world(objects), NOW_MS, (), wait)
    assert [told(s) for s in result.waits] == [f"{PROD}: waits=WaitingForPodsReady"]
    assert result.then == []
    assert [told(s) for s in reconcile(make_world(objects), NOW_MS).then] == [
        f"{PROD}: QuotaReserved Admitted"
    ]


def test_why_a_gang_left_the_queue_goes_with_it() -> None:
    (step,) = CASES["a rejected check takes it out of the queue"].run().first
    assert isinstance(step.write, MergePatch)
    conditions = {c["type"]: c for c in step.write.body["status"]["conditions"]}
    message = f'AdmissionCheck in Rejected state: "{CHECK}" (out of stock)'
    assert conditions["DeactivationTarget"]["message"] == message
    assert [(n.reason, n.message, n.warning) for n in step.notes] == [
        ("AdmissionCheckRejected", f"Deactivated due to {message}", True)
    ]


def test_a_preemption_says_for_whom() -> None:
    (step,) = CASES["a higher priority preempts"].run().first
    assert isinstance(step.write, MergePatch)
    conditions = {c["type"]: c for c in step.write.body["status"]["conditions"]}
    message = (
        f"Preempted to accommodate workload team-a/{PROD} (UID: uid-{PROD}) of priority 1000 due to "
        "InClusterQueue"
    )
    assert conditions["Preempted"]["message"] == conditions["Evicted"]["message"] == message
    assert {n.reason for n in step.notes} == {"Preempted", "EvictedDueToPreempted"}


VACATED = (
    "and then let go",
    "at last its quota",
    "a pod that ended holds nothing",
    "what is admitted again is started",
)


@pytest.mark.parametrize("name", VACATED)
def test_no_pod_is_left_by_the_word_of_the_api_server_itself(name: str) -> None:
    (step,) = CASES[name].run().first
    assert step.vacated == f"uid-{DEV}"


def test_what_never_ran_is_started_without_asking() -> None:
    (step,) = CASES["what is admitted is started"].run().first
    assert step.vacated == ""


def test_the_same_sentence_is_not_written_twice() -> None:
    waiting = of_dev()
    (step,) = reconcile(make_world({**world(dev(), waiting), kinds.LOCAL_QUEUES: []}), NOW_MS).waits
    assert isinstance(step.write, MergePatch)
    waiting["status"] = step.write.body["status"]
    assert reconcile(make_world({**world(dev(), waiting), kinds.LOCAL_QUEUES: []}), NOW_MS + 5).waits == []


def test_an_older_eviction_is_over_once_there_is_quota_again() -> None:
    waiting = of_dev("Evicted", "Preempted")
    assert condition("Evicted")["lastTransitionTime"] == CREATED
    (step,) = reconcile(make_world(world(dev(), waiting)), NOW_MS).then
    assert told(step) == f"{DEV}: QuotaReserved Admitted"


def test_a_new_gang_waits_for_what_the_api_server_has_against_its_pods() -> None:
    """What Ray's schema lets through may be no pods at all, and would hold quota for ever."""
    seen = make_world(world(dev(), of_dev()))
    (job,) = seen.jobs.values()
    seen.pod_checks = PodChecks(NO_CLIENT, lambda: None, lambda: 0.0)
    waiting = reconcile(seen, NOW_MS)
    assert (waiting.then, waiting.waits) == ([], [])
    seen.pod_checks._answers[key_of(job)] = Answer("", 0, 600.0)
    assert [told(s) for s in reconcile(seen, NOW_MS).then] == [f"{DEV}: QuotaReserved Admitted"]
    seen.pod_checks._answers[key_of(job)] = Answer("no such container name", 1, 2.0)
    assert [told(s) for s in reconcile(seen, NOW_MS).waits] == [f"{DEV}: waits=Misconfigured"]
