"""Relations updated by changed keys are those of all objects, and a change marks what depends on it."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from muster.cluster.cluster_state import ClusterState
from muster.cluster.relations import RELATED, Relations
from muster.cluster.watched_kinds import WATCHED
from muster.kube import kinds
from muster.objects.ray import ORIGIN_LABEL
from tests.simulation.manifests import ray_cluster, ray_job, ray_service
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


MINE = child(kinds.RAY_JOBS, "dev", "mine")
SERVED_CLUSTER = child(kinds.RAY_SERVICES, "llm", "served")
FOREIGN = stored(ray_cluster("foreign"))
OF_FOREIGN = pod(UID, "of-foreign", ownerReferences=[controlled_by(kinds.RAY_CLUSTERS, "foreign")])
OBJECTS: dict[str, list[Body]] = {
    "ray_jobs": [stored(ray_job("dev")), stored(ray_job("dev", queue="")), stored(ray_job("other"))],
    "ray_clusters": [
        MINE,
        child(kinds.RAY_SERVICES, "llm", "served"),
        FOREIGN,
        child(kinds.RAY_JOBS, "x", "mine"),
    ],
    "ray_services": [stored(ray_service("llm")), stored(ray_service("llm", workers=3))],
    "workloads": [WORKLOAD, SERVED, CHECKED, workload_body(ray_job("dev"), uid="another")],
    "pods": [pod(UID), pod(UID, phase="Succeeded"), pod("another"), OF_FOREIGN],
    "provisioning_requests": [request(owner=UID), request("Provisioned", owner="another")],
    "pod_templates": [request_template()],
}

# field, object that comes, changes or goes, with others that exist already -> Workloads that depend on it
MARKED: dict[str, tuple[str, Body, dict[str, list[Body]], set[str]]] = {
    "its own object": ("workloads", WORKLOAD, {}, {KEY}),
    "its job": ("ray_jobs", stored(ray_job("dev")), {}, {KEY}),
    "another job": ("ray_jobs", stored(ray_job("other")), {}, set()),
    "its RayCluster": ("ray_clusters", MINE, {}, {KEY}),
    "a RayCluster outside of the queues": ("ray_clusters", FOREIGN, {}, set()),
    "a RayCluster that its pods belong to": ("ray_clusters", FOREIGN, {"pods": [OF_FOREIGN]}, {KEY}),
    "a RayCluster of a RayService": ("ray_clusters", SERVED_CLUSTER, {}, {SERVED_KEY}),
    "its pod": ("pods", pod(UID), {}, {KEY}),
    "its pod that has ended": ("pods", pod(UID, phase="Succeeded"), {}, set()),
    "a pod of another gang": ("pods", pod("another"), {}, set()),
    "its ProvisioningRequest": ("provisioning_requests", request(owner=UID), {}, {KEY}),
    "a template while it has checks": ("pod_templates", request_template(), {"workloads": [CHECKED]}, {KEY}),
    "a template while it has none": ("pod_templates", request_template(), {}, set()),
}


def view(field: str, body: Body) -> Any:
    return read(WATCHED[field], body)


@pytest.mark.parametrize("name", MARKED)
def test_a_change_marks_the_workloads_that_depend_on_it(name: str) -> None:
    field, body, others, expected = MARKED[name]
    jobs = {"ray_jobs": [stored(ray_job("dev"))], "ray_services": [stored(ray_service("llm"))]}
    world = {"workloads": [WORKLOAD, SERVED], **jobs, **others}
    bodies = {WATCHED[of]: world.get(of, ()) for of in RELATED}
    cluster = make_cluster(bodies)
    relations, objects, changed = Relations.of(cluster), getattr(cluster, field), view(field, body)
    for is_there in (True, True, False):
        objects.pop(changed.key, None)
        if is_there:
            objects[changed.key] = changed
        keys = {of: [changed.key] if of == field else [] for of in RELATED}
        assert relations.update(cluster, keys).workloads == expected


ASKED: tuple[Callable[[ClusterState], object], ...] = (
    lambda c: {w.key: c.job_of(w) for w in c.workloads.values()},
    lambda c: {w.key: c.live_pods_of(w) for w in c.workloads.values()},
    lambda c: {w.key: c.ray_clusters_of(w) for w in c.workloads.values()},
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
    random, cluster = Random(seed), make_cluster({WATCHED[of]: [] for of in RELATED})
    cluster.relations = Relations()
    for _ in range(200):
        field = random.choice(RELATED)
        changed = view(field, random.choice(OBJECTS[field]))
        objects = getattr(cluster, field)
        objects.pop(changed.key, None)
        if random.random() < 0.7:
            objects[changed.key] = changed
        cluster.relations.update(cluster, {of: [changed.key] if of == field else [] for of in RELATED})
        reused, fresh = rebuilt(cluster, cluster.relations), rebuilt(cluster, None)
        for ask in ASKED:
            assert ask(reused) == ask(fresh)


def rebuilt(cluster: ClusterState, relations: Relations | None) -> ClusterState:
    """Returns the cluster with these relations, or with new ones, and with the same views."""
    objects = {name: getattr(cluster, name) for name in WATCHED}
    return ClusterState(**objects, cache=cluster.cache, relations=relations)
