"""Relations updated by changed keys are those of all objects, and a change marks what depends on it."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from muster.cluster.cluster_state import ClusterState
from muster.cluster.relations import RELATED, Relations
from muster.kube import kinds
from muster.objects.jobset import JOBSET_UID_LABEL
from muster.objects.ray import ORIGIN_LABEL
from tests.simulation.manifests import (
    batch_job,
    job_set,
    leader_worker_set,
    ray_cluster,
    ray_job,
    ray_service,
)
from tests.unit.controller.builders import (
    Body,
    controlled_by,
    make_cluster,
    pod,
    read,
    request,
    request_template,
    stored,
    workload_body,
)

WORKLOAD = workload_body(ray_job("dev"))
SERVED = workload_body(ray_service("llm"))
UID, KEY = WORKLOAD["metadata"]["uid"], "team-a/rayjob-dev-0b2fb"
SERVED_KEY = f"team-a/{SERVED['metadata']['name']}"
CHECKED = workload_body(ray_job("dev"), "QuotaReserved", check="Pending")


def child(of: kinds.Kind[Any], owner: str, name: str, **meta: Any) -> Body:
    """A RayCluster that KubeRay created."""
    body = stored(ray_cluster(name), ownerReferences=[controlled_by(of, owner)], **meta)
    body["metadata"]["labels"] = {ORIGIN_LABEL: of.name}
    return body


def job_of_jobset(owner: str) -> Body:
    """A Job that the JobSet controller created."""
    of = [controlled_by(kinds.JOB_SETS, owner)]
    body = stored(batch_job("set-workers-0", queue=""), ownerReferences=of)
    body["metadata"]["labels"] = {JOBSET_UID_LABEL: f"uid-{owner}"}
    return body


SET = workload_body(job_set("set"))
OF_SET = pod(SET["metadata"]["uid"], "p", ownerReferences=[controlled_by(kinds.BATCH_JOBS, "set-workers-0")])
MINE = child(kinds.RAY_JOBS, "dev", "mine")
SERVED_CLUSTER = child(kinds.RAY_SERVICES, "llm", "served")
FOREIGN = stored(ray_cluster("foreign"))
OF_FOREIGN = pod(UID, "of-foreign", ownerReferences=[controlled_by(kinds.RAY_CLUSTERS, "foreign")])
OBJECTS: dict[kinds.AnyKind, list[Body]] = {
    kinds.RAY_JOBS: [stored(ray_job("dev")), stored(ray_job("dev", queue="")), stored(ray_job("other"))],
    kinds.RAY_CLUSTERS: [
        MINE,
        child(kinds.RAY_SERVICES, "llm", "served"),
        FOREIGN,
        child(kinds.RAY_JOBS, "x", "mine"),
    ],
    kinds.BATCH_JOBS: [
        stored(batch_job("batch")),
        stored(batch_job("batch", queue="")),
        job_of_jobset("set"),
        job_of_jobset("other"),
    ],
    kinds.JOB_SETS: [stored(job_set("set")), stored(job_set("set", queue=""))],
    kinds.LEADER_WORKER_SETS: [
        stored(leader_worker_set("server")),
        stored(leader_worker_set("server", queue="")),
    ],
    kinds.RAY_SERVICES: [stored(ray_service("llm")), stored(ray_service("llm", workers=3))],
    kinds.WORKLOADS: [WORKLOAD, SERVED, CHECKED, SET, workload_body(ray_job("dev"), uid="another")],
    kinds.PODS: [pod(UID), pod(UID, phase="Succeeded"), pod("another"), OF_FOREIGN, OF_SET],
    kinds.PROVISIONING_REQUESTS: [request(owner=UID), request("Provisioned", owner="another")],
    kinds.POD_TEMPLATES: [request_template()],
}

# kind, object that comes, changes or goes, with others that exist already -> Workloads that depend on it
MARKED: dict[str, tuple[kinds.AnyKind, Body, dict[kinds.AnyKind, list[Body]], set[str]]] = {
    "its own object": (kinds.WORKLOADS, WORKLOAD, {}, {KEY}),
    "its job": (kinds.RAY_JOBS, stored(ray_job("dev")), {}, {KEY}),
    "another job": (kinds.RAY_JOBS, stored(ray_job("other")), {}, set()),
    "its RayCluster": (kinds.RAY_CLUSTERS, MINE, {}, {KEY}),
    "a RayCluster outside of the queues": (kinds.RAY_CLUSTERS, FOREIGN, {}, set()),
    "a RayCluster that its pods belong to": (kinds.RAY_CLUSTERS, FOREIGN, {kinds.PODS: [OF_FOREIGN]}, {KEY}),
    "a RayCluster of a RayService": (kinds.RAY_CLUSTERS, SERVED_CLUSTER, {}, {SERVED_KEY}),
    "a Job of a JobSet": (
        kinds.BATCH_JOBS,
        job_of_jobset("set"),
        {kinds.JOB_SETS: [stored(job_set("set"))], kinds.WORKLOADS: [SET]},
        {f"team-a/{SET['metadata']['name']}"},
    ),
    "its pod": (kinds.PODS, pod(UID), {}, {KEY}),
    "its pod that has ended": (kinds.PODS, pod(UID, phase="Succeeded"), {}, set()),
    "a pod of another gang": (kinds.PODS, pod("another"), {}, set()),
    "its ProvisioningRequest": (kinds.PROVISIONING_REQUESTS, request(owner=UID), {}, {KEY}),
    "a template while it has checks": (
        kinds.POD_TEMPLATES,
        request_template(),
        {kinds.WORKLOADS: [CHECKED]},
        {KEY},
    ),
    "a template while it has none": (kinds.POD_TEMPLATES, request_template(), {}, set()),
}


@pytest.mark.parametrize("name", MARKED)
def test_a_change_marks_the_workloads_that_depend_on_it(name: str) -> None:
    kind, body, others, expected = MARKED[name]
    world: dict[kinds.AnyKind, list[Body]] = {
        kinds.RAY_JOBS: [stored(ray_job("dev"))],
        kinds.RAY_SERVICES: [stored(ray_service("llm"))],
        kinds.WORKLOADS: [WORKLOAD, SERVED],
        **others,
    }
    bodies = {of: world.get(of, ()) for of in RELATED}
    cluster = make_cluster(bodies)
    relations, objects, changed = Relations.of(cluster), mutable(cluster, kind), read(kind, body)
    for is_there in (True, True, False):
        objects.pop(changed.key, None)
        if is_there:
            objects[changed.key] = changed
        keys = {of: [changed.key] if of == kind else [] for of in RELATED}
        assert relations.update(cluster, keys).workloads == expected


ASKED: tuple[Callable[[ClusterState], object], ...] = (
    lambda c: {w.key: c.job_of(w) for w in c.workloads.values()},
    lambda c: {w.key: c.live_pods_of(w) for w in c.workloads.values()},
    lambda c: {w.key: c.dependents_of(w) for w in c.workloads.values()},
    lambda c: {w.key: c.requests_of(w) for w in c.workloads.values()},
    lambda c: {
        job: c.workload_of(parsed_job) for job in c.job_identities if (parsed_job := c.job(job)) is not None
    },
    lambda c: c.jobs_with_empty_queue_label,
    lambda c: c.namespace_labels,
    lambda c: c.deleted_queues,
)


@pytest.mark.parametrize("seed", range(5))
def test_updated_relations_are_those_of_all_objects(seed: int) -> None:
    random, cluster = Random(seed), make_cluster({of: [] for of in RELATED})
    cluster.relations = Relations()
    for _ in range(200):
        kind = random.choice(RELATED)
        changed = read(kind, random.choice(OBJECTS[kind]))
        objects = mutable(cluster, kind)
        objects.pop(changed.key, None)
        if random.random() < 0.7:
            objects[changed.key] = changed
        cluster.relations.update(cluster, {of: [changed.key] if of == kind else [] for of in RELATED})
        reused, fresh = rebuilt(cluster, cluster.relations), rebuilt(cluster, None)
        for ask in ASKED:
            assert ask(reused) == ask(fresh)


def rebuilt(cluster: ClusterState, relations: Relations | None) -> ClusterState:
    """Returns the cluster with these relations, or with new ones, and with the same views."""
    return ClusterState(cluster.observed, cluster.cache, relations=relations)


def mutable(cluster: ClusterState, kind: kinds.AnyKind) -> dict[str, Any]:
    """Returns the objects of a kind, for changes."""
    objects = cluster.observed[kind]
    assert isinstance(objects, dict)
    return objects
