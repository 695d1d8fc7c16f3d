"""A cluster as the picture of the live page shows it: three cohorts, gangs of six hours, and what waits."""

from collections.abc import Sequence
from random import Random
from typing import Any

from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.live.eta.start_range import StartRange
from muster.objects.meta import millis, rfc3339
from muster.objects.names import ETA_ANNOTATION
from tests.simulation.manifests import cluster_queue, quotas, ray_job, stack
from tests.unit.controller.builders import Body, condition, request, stored, workload_body
from tests.unit.live.builders import finished, running, since

GPUS = {"training": 16, "tuning": 8, "research": 8, "inference": 12, "batch": 8, "evaluation": 4}
COHORTS = {
    "training": "models",
    "tuning": "models",
    "research": "models",
    "inference": "products",
    "batch": "products",
    "evaluation": "products",
}
RUNNING = {"training": 4, "tuning": 4, "research": 0, "inference": 1, "batch": 2, "evaluation": 1}
WORDS = ("llama", "whisper", "ranker", "vision", "speech", "embed", "guard", "planner")
HOURS = 6


def example() -> dict[Kind[Any], Sequence[Body]]:
    """Returns the objects, the same in every run."""
    random = Random(7)
    cpu = quotas("cpu", cpu=64, memory="512Gi", gpu=0)
    queues = [
        cluster_queue(
            name, cpu, quotas("l4", cpu=256, memory="2Ti", gpu=gpus), cohort=COHORTS[name], check=True
        )
        for name, gpus in GPUS.items()
    ]
    below = {"spec": {"parentName": "company"}}
    cohorts = [{"metadata": {"name": name}, **below} for name in ("models", "products")]
    bodies = [body for queue in GPUS for body in _workloads(queue, random)]
    estimated = [_estimated(body, random) for body in bodies if "admission" in body["status"]]
    asks = [_waits_for_nodes("inference", "planner-9", 120), _waits_for_nodes("batch", "embed-9", 1_500)]
    return {
        **stack(*queues),
        kinds.COHORTS: [{"metadata": {"name": "company"}, "spec": {}}, *cohorts],
        kinds.RAY_JOBS: estimated,
        kinds.WORKLOADS: [*bodies, *(workload for workload, _ in asks), *_preempted()],
        kinds.PROVISIONING_REQUESTS: [asked for _, asked in asks],
    }


def _workloads(queue: str, random: Random) -> list[Body]:
    workloads = []
    for slot in range(max(1, RUNNING[queue])):
        ago_s = random.uniform(300, 7_000)
        if slot < RUNNING[queue]:
            workloads.append(running(_job(queue, f"{random.choice(WORDS)}-{slot}"), ago_s))
            ago_s += random.uniform(60, 600)
        while ago_s < HOURS * 3_600:
            took_s = random.uniform(600, 6_000)
            name = f"{random.choice(WORDS)}-{slot}-{round(ago_s)}"
            done = finished(_job(queue, name), took_s, ago_s)
            if random.random() < 0.12:
                done["status"]["conditions"][-1]["reason"] = "Failed"
            workloads.append(done)
            ago_s += took_s + random.uniform(60, 900)
    for number in range(random.randrange(9)):
        workloads.append(_waiting(queue, f"{random.choice(WORDS)}-{20 + number}", random.uniform(60, 9_000)))
    return [_in_queue(body, queue) for body in workloads]


def _job(queue: str, name: str) -> Body:
    return ray_job(name, namespace=queue, workers=4)


def _in_queue(body: Body, queue: str) -> Body:
    if "admission" in body["status"]:
        body["status"]["admission"]["clusterQueue"] = queue
    return body


def _estimated(workload: Body, random: Random) -> Body:
    """Returns the job of a Workload that has started, with the estimate of up to half an hour before.

    Sets the Workload's creation to a minute before the estimate."""
    (ready,) = (c for c in workload["status"]["conditions"] if c["type"] == "PodsReady")
    started_ms, age_ms = millis(ready["lastTransitionTime"]), round(random.uniform(60_000, 1_800_000))
    error = random.gauss(0, 0.35)
    p10_ms, p50_ms, p90_ms = (started_ms + round(age_ms * (error + at)) for at in (-0.4, 0, 0.6))
    workload["metadata"]["creationTimestamp"] = rfc3339(started_ms - age_ms - 60_000)
    estimate = StartRange(started_ms - age_ms, p10_ms, p50_ms, p90_ms, 20)
    metadata = workload["metadata"]
    job = _job(metadata["namespace"], metadata["ownerReferences"][0]["name"])
    return stored(job, annotations={ETA_ANNOTATION: estimate.annotation})


def _waiting(queue: str, name: str, ago_s: float) -> Body:
    body = workload_body(_job(queue, name))
    waiting_condition = since("QuotaReserved", ago_s, False, "WaitingForQuota")
    body["status"] = {
        "conditions": [{**waiting_condition, "message": "its cohort has not enough nvidia.com/gpu left"}]
    }
    body["metadata"]["creationTimestamp"] = body["status"]["conditions"][0]["lastTransitionTime"]
    return body


def _waits_for_nodes(queue: str, name: str, ago_s: float) -> tuple[Body, Body]:
    """Returns a Workload that holds quota, and the request for its nodes."""
    body = _in_queue(workload_body(_job(queue, name), "QuotaReserved", check="Pending"), queue)
    body["status"]["conditions"] = [since("QuotaReserved", ago_s)]
    asked = request(
        "Accepted",
        name=f"{body['metadata']['name']}-queued-provisioning-1",
        owner=body["metadata"]["uid"],
        message="Provisioning Request is in the queue: no capacity in the zone at the moment.",
        creationTimestamp=body["status"]["conditions"][0]["lastTransitionTime"],
    )
    asked["metadata"]["namespace"] = queue
    return body, asked


def _preempted() -> list[Body]:
    words = "Preempted to accommodate a workload of RayJob inference/planner-9 due to {}"
    workloads = []
    for queue, reason, cause, ago_s in (
        ("research", "InCohortReclamation", "reclamation within the cohort", 1_900),
        ("batch", "InClusterQueue", "prioritization in the ClusterQueue", 4_300),
    ):
        body = _waiting(queue, f"sweep-{ago_s}", ago_s)
        waiting_condition = {**since("Preempted", ago_s, reason=reason), "message": words.format(cause)}
        body["status"]["conditions"] += [waiting_condition, condition("Evicted", reason="Preempted")]
        workloads.append(body)
    return workloads
