"""Claims of devices: their count by the queue's annotation, and those for which a gang is refused."""

import json
from typing import Any

import pytest

from muster.admission import Rules
from muster.cluster import candidates, eligibility
from muster.cluster.claims import uncounted
from muster.cluster.cluster_state import ClusterState
from muster.kube import kinds
from muster.objects.names import DEVICE_CLASSES
from tests.simulation.manifests import GPU, PREEMPTION, cluster_queue, quotas, ray_job, template
from tests.unit.controller.builders import Body, job, make_cluster, stored, workload

QUEUES = (quotas("cpu", cpu=8, memory="32Gi", gpu=0), quotas("l4", cpu=16, memory="64Gi", gpu=4))
CLASSES = {"gpu.nvidia.com": GPU, "mrdma.google.com": ""}


def claim_template(name: str, *requests: Body) -> Body:
    named = [{"name": f"r{i}", **request} for i, request in enumerate(requests)]
    spec = {"spec": {"devices": {"requests": named}}}
    return stored({"metadata": {"name": name, "namespace": "team-a"}, "spec": spec})


def exactly(device_class: str, count: int = 1, **fields: Any) -> Body:
    return {"exactly": {"deviceClassName": device_class, "count": count, **fields}}


TEMPLATES = [
    claim_template("gpus", exactly("gpu.nvidia.com", 2)),
    claim_template("nics", exactly("mrdma.google.com", allocationMode="All")),
    claim_template("fpgas", exactly("fpga.example.com")),
    claim_template("all-gpus", exactly("gpu.nvidia.com", allocationMode="All")),
]
DEVICE_CLASS = {"metadata": {"name": "gpu.nvidia.com"}, "spec": {"extendedResourceName": "nvidia.com/new"}}


def cluster(annotation: str | None = json.dumps(CLASSES)) -> ClusterState:
    queue = cluster_queue("team-a", *QUEUES, preemption=PREEMPTION)
    if annotation is not None:
        queue["metadata"]["annotations"] = {DEVICE_CLASSES: annotation}
    return make_cluster(
        {
            kinds.CLUSTER_QUEUES: [queue],
            kinds.RESOURCE_CLAIM_TEMPLATES: TEMPLATES,
            kinds.DEVICE_CLASSES: [DEVICE_CLASS],
        }
    )


def claiming(*templates: str, containers: int = 1, **requests: object) -> Body:
    """Returns a template of pods with a claim for each ResourceClaimTemplate, which all containers use."""
    worker = template("worker", cpu=1, **requests)
    claims = [f"claim-{i}" for i, _ in enumerate(templates)]
    (container,) = worker["spec"]["containers"]
    container["resources"]["claims"] = [{"name": name} for name in claims]
    worker["spec"]["containers"] = [{**container, "name": f"c{i}"} for i in range(containers)]
    worker["spec"]["resourceClaims"] = [
        {"name": name, "resourceClaimTemplateName": of} for name, of in zip(claims, templates, strict=True)
    ]
    return worker


def devices_of_worker(worker: Body, of: ClusterState) -> tuple[dict[str, int], dict[str, int]]:
    """Returns the devices that quota counts for one worker, and those that its node must have."""
    gang = workload(ray_job("dev", worker=worker))
    considered = candidates.candidate(gang, gang.status, of, {})
    assert considered is not None
    (pods,) = [p for p in considered.whole(Rules()).pod_sets if p.name == "gpu"]
    both = (
        {r: n for r, n in requests.items() if "/" in r}
        for requests in (pods.requests, pods.requests_of_nodes)
    )
    return next(both), next(both)


COUNTED: dict[str, tuple[Body, dict[str, int]]] = {
    "one claim": (claiming("gpus"), {GPU: 2}),
    "kueue: containers of a pod share a claim": (claiming("gpus", containers=3), {GPU: 2}),
    "two claims by one template": (claiming("gpus", "gpus"), {GPU: 4}),
    "a claim, and requests of containers": (claiming("gpus", gpu=1), {GPU: 3}),
    "devices without quota": (claiming("nics"), {}),
    "devices with and without quota": (claiming("nics", "gpus"), {GPU: 2}),
}


@pytest.mark.parametrize("name", COUNTED)
def test_claims_count_once_for_each_pod(name: str) -> None:
    worker, expected = COUNTED[name]
    counted, _ = devices_of_worker(worker, cluster())
    assert counted == expected


def test_nodes_need_not_have_claimed_devices_as_a_resource() -> None:
    """Kueue: totalRequestsFromAdmission in pkg/workload places pods by the requests of their template."""
    assert devices_of_worker(claiming("gpus", gpu=1), cluster())[1] == {GPU: 1}


def test_an_extended_resource_counts_as_the_devices_of_its_class() -> None:
    worker = template("worker", cpu=1)
    worker["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/new"] = "3"
    counted, on_node = devices_of_worker(worker, cluster())
    assert counted == {GPU: 3}
    assert on_node == {"nvidia.com/new": 3}


NOT_MAPPED = (
    "is for devices of DeviceClass 'gpu.nvidia.com', which no quota counts: have an administrator add"
)
REFUSED: dict[str, tuple[Body, str | None, str]] = {
    "a class without a resource": (
        claiming("fpgas"),
        json.dumps(CLASSES),
        "pod set 'gpu': ResourceClaimTemplate 'fpgas' is for devices of DeviceClass 'fpga.example.com', "
        "which no quota counts",
    ),
    "an unknown number of devices": (
        claiming("all-gpus"),
        json.dumps(CLASSES),
        "pod set 'gpu': ResourceClaimTemplate 'all-gpus' is for a number of devices that is unknown",
    ),
    "no class is mapped": (
        claiming("gpus"),
        None,
        f"pod set 'gpu': ResourceClaimTemplate 'gpus' {NOT_MAPPED}",
    ),
    "an unreadable annotation": (
        claiming("gpus"),
        "[]",
        f"ClusterQueue team-a can't admit workloads: annotation {DEVICE_CLASSES}: ",
    ),
    "counted": (claiming("gpus", "nics"), json.dumps(CLASSES), ""),
    "none": (claiming(), None, ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_gangs_whose_devices_cannot_be_counted_are_refused(name: str) -> None:
    worker, annotation, why = REFUSED[name]
    body = started_with({"num-gpus": "2"}, worker)
    refusal = eligibility.ineligibility(workload(body), job(body), cluster(annotation))
    assert (refusal.message if refusal else "").startswith(why)
    assert (refusal is None) is (not why)


def started_with(parameters: dict[str, str], worker: Body, **group: Any) -> Body:
    """Returns a RayJob whose workers start Ray with these parameters."""
    body = ray_job("dev", worker=worker)
    (workers,) = body["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    workers |= {"rayStartParams": parameters, **group}
    return body


def with_limit(worker: Body) -> Body:
    worker["spec"]["containers"][0]["resources"]["limits"] = {GPU: "1"}
    return worker


NONE = (
    "pod set 'gpu': each pod claims 2 GPUs, but Ray would start with none: set rayStartParams num-gpus: "
    '"2", or "0" if Ray must not use them'
)
RAY_GPUS: dict[str, tuple[Body, str]] = {
    "nothing sets GPUs of Ray": (started_with({}, claiming("gpus")), NONE),
    "other parameters": (started_with({"num-cpus": "1"}, claiming("gpus")), NONE),
    "num-gpus": (started_with({"num-gpus": "2"}, claiming("gpus")), ""),
    "explicitly none": (started_with({"num-gpus": "0"}, claiming("gpus")), ""),
    "resources of the group": (started_with({}, claiming("gpus"), resources={"GPU": "2"}), ""),
    "other resources of the group": (started_with({}, claiming("gpus"), resources={"CPU": "2"}), NONE),
    "limits of the container": (started_with({}, with_limit(claiming("gpus"))), ""),
    "claims of other devices": (started_with({}, claiming("nics")), ""),
    "no claims": (started_with({}, claiming()), ""),
}


@pytest.mark.parametrize("name", RAY_GPUS)
def test_claimed_gpus_are_set_for_ray(name: str) -> None:
    """KubeRay derives num-gpus from limits, and not from claims (KubeRay#3527)."""
    body, why = RAY_GPUS[name]
    refusal = eligibility.ineligibility(workload(body), job(body), cluster())
    assert (refusal.message if refusal else "") == why


UNCOUNTED = {
    "gpus": "",
    "nics": ". Devices of DeviceClass mrdma.google.com are not counted in quota",
}


@pytest.mark.parametrize("claim", UNCOUNTED)
def test_devices_without_quota_are_named(claim: str) -> None:
    observed = cluster()
    gang = workload(ray_job("dev", worker=claiming(claim)))
    assert uncounted(gang, observed.cluster_queues["team-a"], observed) == UNCOUNTED[claim]
