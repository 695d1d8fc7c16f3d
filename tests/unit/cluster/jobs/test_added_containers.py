"""Containers that KubeRay adds to a gang's pods: they count, and the job's templates do not change."""

import copy
from typing import Any

import msgspec
import pytest

from muster.cluster.jobs.gang import PodSetTemplate
from muster.objects.kueue import POD_SETS_MAX, PODS_MAX
from muster.objects.pods import pod_requests
from tests.simulation.manifests import Body, ray_cluster, ray_cluster_spec, ray_job, ray_service, template
from tests.unit.controller.builders import job

MI, GI = 2**20, 2**30
SMALL = template("small", cpu="1m", memory="1Mi")
(RAY,) = SMALL["spec"]["containers"]
REDIS = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
SIDECAR = {"name": "tls", "restartPolicy": "Always", "resources": {"requests": {"cpu": "50m"}}}


def cluster(head: Body = SMALL, worker: Body = SMALL, **spec: Any) -> Body:
    return {**ray_cluster_spec(2, worker=worker, head=head), **spec}


def small(kind: str, *, annotations: dict[str, str] | None = None, **spec: Any) -> Body:
    """Returns a job of this kind whose pods ask for next to nothing."""
    bodies = {
        "RayJob": ray_job("dev", rayClusterSpec=cluster(**spec), submissionMode="HTTPMode"),
        "RayCluster": {**ray_cluster("notebook"), "spec": {**cluster(**spec), "suspend": True}},
        "RayService": ray_service("llm", rayClusterConfig={**cluster(**spec), "suspend": True}),
    }
    body = copy.deepcopy(bodies[kind])
    body["metadata"]["annotations"] = {**body["metadata"].get("annotations", {}), **(annotations or {})}
    return body


def by_sidecar(**spec: Any) -> Body:
    return ray_job("dev", submissionMode="SidecarMode", rayClusterSpec=cluster(**spec))


def with_init(*containers: Body) -> Body:
    return {"spec": {**SMALL["spec"], "initContainers": list(containers)}}


HEADS: dict[str, tuple[Body, dict[str, int]]] = {
    "nothing is added": (small("RayCluster"), {"cpu": 1, "memory": MI}),
    "the submitter with SidecarMode": (by_sidecar(), {"cpu": 501, "memory": 201 * MI}),
    "the autoscaler": (
        small("RayCluster", enableInTreeAutoscaling=True),
        {"cpu": 501, "memory": 513 * MI},
    ),
    "the autoscaler of a RayService": (
        small("RayService", enableInTreeAutoscaling=True),
        {"cpu": 501, "memory": 513 * MI},
    ),
    "the autoscaler with its user's resources": (
        small(
            "RayCluster",
            enableInTreeAutoscaling=True,
            autoscalerOptions={"resources": {"limits": {"cpu": "20"}}},
        ),
        {"cpu": 20_001, "memory": MI},
    ),
    "the autoscaler without resources": (
        small("RayCluster", enableInTreeAutoscaling=True, autoscalerOptions={"resources": {}}),
        {"cpu": 1, "memory": MI},
    ),
    "options of an autoscaler that is off": (
        small("RayCluster", autoscalerOptions={"resources": {"limits": {"cpu": "20"}}}),
        {"cpu": 1, "memory": MI},
    ),
    "the submitter and the autoscaler": (
        by_sidecar(enableInTreeAutoscaling=True),
        {"cpu": 1001, "memory": 713 * MI},
    ),
    "the Redis clean-up that follows a small head": (
        small("RayCluster", **REDIS),
        {"cpu": 200, "memory": 256 * MI},
    ),
    "the Redis clean-up of a RayJob": (small("RayJob", **REDIS), {"cpu": 200, "memory": 256 * MI}),
    "the Redis clean-up of a RayService": (small("RayService", **REDIS), {"cpu": 200, "memory": 256 * MI}),
    "the Redis clean-up by annotation": (
        small("RayCluster", annotations={"ray.io/ft-enabled": "True"}),
        {"cpu": 200, "memory": 256 * MI},
    ),
    "the Redis clean-up by annotation of a RayJob": (
        small("RayJob", annotations={"ray.io/ft-enabled": "true"}),
        {"cpu": 200, "memory": 256 * MI},
    ),
    "an annotation that turns fault tolerance off": (
        small("RayCluster", annotations={"ray.io/ft-enabled": "false"}),
        {"cpu": 1, "memory": MI},
    ),
    "a head that is larger than its Redis clean-up": (
        small("RayCluster", head=template("head", cpu=1, memory="1Gi"), **REDIS),
        {"cpu": 1000, "memory": GI},
    ),
    "the Redis clean-up keeps the head's sidecars": (
        small("RayCluster", head=with_init(SIDECAR), **REDIS),
        {"cpu": 250, "memory": 256 * MI},
    ),
}


@pytest.mark.parametrize("name", HEADS)
def test_the_head_counts_what_kuberay_adds(name: str) -> None:
    body, requests = HEADS[name]
    head = job(body).pod_sets[0]
    assert (head.name, pod_requests(head.template)) == ("head", requests)


WORKERS: dict[str, tuple[Body, dict[str, int]]] = {
    "a small worker waits for its head": (SMALL, {"cpu": 200, "memory": 256 * MI}),
    "a large worker": (template("worker", cpu=2, memory="1Gi"), {"cpu": 2000, "memory": GI}),
    "next to its sidecars": (with_init(SIDECAR), {"cpu": 250, "memory": 256 * MI}),
}


@pytest.mark.parametrize("name", WORKERS)
@pytest.mark.parametrize("kind", ["RayJob", "RayCluster", "RayService"])
def test_workers_count_the_container_that_waits_for_the_head(name: str, kind: str) -> None:
    worker, requests = WORKERS[name]
    assert pod_requests(job(small(kind, worker=worker)).pod_sets[1].template) == requests


@pytest.mark.parametrize(
    "body",
    [by_sidecar(enableInTreeAutoscaling=True, **REDIS), small("RayService", **REDIS)],
    ids=["a RayJob", "a RayService"],
)
def test_the_templates_of_the_job_stay_its_users(body: Body) -> None:
    """Only the Workload has the added containers: placement is written into the job's templates."""
    for entry in job(body).pod_set_templates:
        assert msgspec.json.decode(entry.template) == SMALL


def test_the_redis_clean_up_is_in_no_pod_of_the_head() -> None:
    head = job(small("RayCluster", **REDIS)).pod_set_templates[0]
    assert msgspec.json.decode(head.created) == SMALL


TAKEN = "{} has a container named {!r}, which KubeRay also adds: rename the container"
NAMES: dict[str, tuple[Body, str, str]] = {
    "a submitter": (
        by_sidecar(head={"spec": {"containers": [RAY, {"name": "ray-job-submitter"}]}}),
        "pod set 'head'",
        "ray-job-submitter",
    ),
    "a waiting init container": (
        small("RayCluster", worker=with_init({"name": "wait-gcs-ready"})),
        "pod set 'gpu'",
        "wait-gcs-ready",
    ),
    "a waiting container": (
        small("RayJob", worker={"spec": {"containers": [{"name": "wait-gcs-ready"}]}}),
        "pod set 'gpu'",
        "wait-gcs-ready",
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_container_with_the_name_of_an_added_one_is_refused(name: str) -> None:
    """The schemas of Workload and RayCluster accept no two containers of one name."""
    body, where, container = NAMES[name]
    assert job(body).ineligibility == TAKEN.format(where, container)
    for pod_set in job(body).pod_sets:
        names = [c["name"] for c in msgspec.json.decode(pod_set.template)["spec"]["containers"]]
        assert len(names) == len(set(names))


def groups(*shapes: dict[str, Any]) -> Body:
    spec = cluster()
    (group,) = spec["workerGroupSpecs"]
    return {**spec, "workerGroupSpecs": [{**group, "maxReplicas": PODS_MAX, **shape} for shape in shapes]}


def too_many(total: int, largest: int, name: str) -> str:
    return (
        f"the gang has {total} pods, {largest} of them in pod set {name!r} (replicas * numOfHosts); expected "
        "at most 2147483647: lower replicas or numOfHosts"
    )


BAD_NAME = (
    "groupName {!r} is not the name of a pod set; expected at most 63 lowercase letters, digits and '-', "
    "beginning and ending with a letter or digit: rename the worker group"
)
SIZES: dict[str, tuple[Body, str | None]] = {
    "as many as fit": (groups({"replicas": PODS_MAX - 1}), None),
    "hosts of all replicas": (
        groups({"replicas": 2**30, "numOfHosts": 4}),
        too_many(2**32 + 1, 2**32, "gpu"),
    ),
    "the product of the largest numbers": (
        groups({"replicas": PODS_MAX, "numOfHosts": PODS_MAX}),
        too_many(PODS_MAX**2 + 1, PODS_MAX**2, "gpu"),
    ),
    "groups that are too many together": (
        groups({"groupName": "a", "replicas": 2**30}, {"groupName": "b", "replicas": 2**30}),
        too_many(2**31 + 1, 2**30, "a"),
    ),
    "a minimum": (groups({"minReplicas": PODS_MAX}), too_many(2**31, PODS_MAX, "gpu")),
    "a group in capitals": (groups({"groupName": "Workers"}), BAD_NAME.format("Workers")),
    "an empty name": (groups({"groupName": ""}), BAD_NAME.format("")),
    "a long name": (groups({"groupName": "g" * 64}), BAD_NAME.format("g" * 64)),
    "many groups": (
        groups(*({"groupName": f"g{index}", "replicas": 0} for index in range(18))),
        "it has 19 pod sets; expected at most 18: merge worker groups",
    ),
}


@pytest.mark.parametrize("name", SIZES)
def test_gangs_that_no_workload_can_hold_are_refused(name: str) -> None:
    """The API server must accept their Workload, which reports the reason."""
    spec, message = SIZES[name]
    gang = job({**ray_cluster("notebook"), "spec": {**spec, "suspend": True}})
    assert gang.ineligibility == message
    assert len(gang.pod_sets) <= POD_SETS_MAX
    assert len({pod_set.name for pod_set in gang.pod_sets}) == len(gang.pod_sets)
    assert all(0 <= pod_set.count <= PODS_MAX for pod_set in gang.pod_sets)


def test_templates_are_read_once_for_a_spec() -> None:
    """Two jobs with equal specs differ only in an annotation."""
    plain, tolerant = (small("RayCluster", annotations={"ray.io/ft-enabled": on}) for on in ("false", "true"))
    parsed_jobs = [job(body) for body in (plain, tolerant, plain)]
    first, second, third = (gang.pod_set_templates for gang in parsed_jobs)
    assert first is third
    assert [bool(of[0].successors) for of in (first, second)] == [False, True]
    assert isinstance(first[0], PodSetTemplate)
