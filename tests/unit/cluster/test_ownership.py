"""Owners of pods, RayClusters, Workloads and requests."""

from typing import Any

import pytest

from muster.cluster import ownership
from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.objects.meta import Object
from muster.objects.names import JOB_UID_LABEL, WORKLOAD_UID_LABEL
from muster.objects.ray import NODE_TYPE_LABEL, ORIGIN_LABEL, REDIS_CLEANUP_TYPE
from tests.simulation.manifests import ray_cluster, ray_job
from tests.unit.controller.builders import (
    Body,
    controlled_by,
    job,
    make_cluster,
    pod,
    read,
    request,
    stored,
    workload,
    workload_body,
)

CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", Object, namespaced=True)
FOREIGN_CLUSTERS = Kind("example.com", "v1", "RayCluster", "rayclusters", Object, namespaced=True)
FOREIGN_JOBS = Kind("example.com", "v1", "RayJob", "rayjobs", Object, namespaced=True)

DEV = workload_body(ray_job("dev"), "QuotaReserved", "Admitted")
UID = DEV["metadata"]["uid"]
ELSEWHERE = {"namespace": "team-b"}


def cluster(*owners: Body, **meta: Any) -> Body:
    """Returns a RayCluster at rest, so that only its pods count."""
    body = ray_cluster("dev-raycluster")
    body["spec"]["suspend"] = True
    body["status"] = {"conditions": [{"type": "RayClusterSuspended", "status": "True"}]}
    return stored(body, ownerReferences=list(owners), labels={ORIGIN_LABEL: "RayJob"}, **meta)


def made_by(kind: Kind[Any], name: str, uid: str = "", **meta: Any) -> Body:
    return pod(UID, ownerReferences=[controlled_by(kind, name, uid)], **meta)


OWN = cluster(controlled_by(kinds.RAY_JOBS, "dev"))
OF_OWN = made_by(kinds.RAY_CLUSTERS, "dev-raycluster")

# pods, RayClusters -> whether the gang of RayJob dev still exists
PODS: dict[str, tuple[Body, list[Body], bool]] = {
    "of its RayCluster": (OF_OWN, [OWN], True),
    "of its RayCluster, which is deleted": (OF_OWN, [], True),
    "of an earlier RayCluster of the same name": (
        made_by(kinds.RAY_CLUSTERS, "dev-raycluster", "uid-earlier"),
        [OWN],
        True,
    ),
    "of its submitter": (made_by(kinds.BATCH_JOBS, "dev"), [OWN], True),
    "of a Redis clean-up": (
        made_by(
            kinds.BATCH_JOBS,
            "dev-abcde-redis-cleanup",
            labels={WORKLOAD_UID_LABEL: UID, NODE_TYPE_LABEL: REDIS_CLEANUP_TYPE},
        ),
        [OWN],
        True,
    ),
    "in another namespace": (
        made_by(kinds.RAY_CLUSTERS, "dev-raycluster", **ELSEWHERE),
        [OWN],
        False,
    ),
    "without an owner": (pod(UID, ownerReferences=[]), [OWN], True),
    "of a ConfigMap": (made_by(CONFIG_MAPS, "dev-raycluster"), [OWN], True),
    "of another API's RayCluster": (made_by(FOREIGN_CLUSTERS, "dev-raycluster"), [OWN], True),
    "of another Job": (made_by(kinds.BATCH_JOBS, "other"), [OWN], True),
    "of its RayCluster, which was given to another job": (
        OF_OWN,
        [cluster(controlled_by(kinds.RAY_JOBS, "other"))],
        True,
    ),
    "of a RayCluster that lost its owner": (OF_OWN, [cluster()], True),
    "of its RayCluster, which was given to another API's RayJob": (
        OF_OWN,
        [cluster(controlled_by(FOREIGN_JOBS, "dev"))],
        True,
    ),
}


@pytest.mark.parametrize("name", PODS)
def test_which_pods_belong_to_a_gang(name: str) -> None:
    body, clusters, expected = PODS[name]
    cluster = make_cluster(
        {
            kinds.RAY_JOBS: [stored(ray_job("dev"))],
            kinds.RAY_CLUSTERS: clusters,
            kinds.WORKLOADS: [DEV],
            kinds.PODS: [body],
        }
    )
    assert bool(cluster.live_pods_of(workload(ray_job("dev")))) is expected


def test_pods_of_a_queued_ray_cluster_belong_to_its_gang() -> None:
    notebook = workload(ray_cluster("notebook"))
    mine = pod(notebook.metadata.uid, ownerReferences=[controlled_by(kinds.RAY_CLUSTERS, "notebook")])
    cluster = make_cluster({kinds.RAY_CLUSTERS: [stored(ray_cluster("notebook"))], kinds.PODS: [mine]})
    assert cluster.live_pods_of(notebook)


# owner and origin of a running RayCluster -> whether the gang of RayJob dev still exists
CLUSTERS: dict[str, tuple[Body, str, bool]] = {
    "its own": (controlled_by(kinds.RAY_JOBS, "dev"), "RayJob", True),
    "an object that KubeRay did not create": (controlled_by(kinds.RAY_JOBS, "dev"), "", False),
    "an object that KubeRay created for another kind": (
        controlled_by(kinds.RAY_JOBS, "dev"),
        "RayService",
        False,
    ),
    "of a ConfigMap with its UID": (controlled_by(CONFIG_MAPS, "dev"), "RayJob", False),
    "of a RayService with its UID": (controlled_by(kinds.RAY_SERVICES, "dev"), "RayService", False),
    "of another API's RayJob with its UID": (controlled_by(FOREIGN_JOBS, "dev"), "RayJob", False),
}


@pytest.mark.parametrize("name", CLUSTERS)
@pytest.mark.parametrize("meta", [{}, ELSEWHERE])
def test_which_ray_clusters_belong_to_a_gang(name: str, meta: dict[str, Any]) -> None:
    owner, origin, expected = CLUSTERS[name]
    labels = {ORIGIN_LABEL: origin} if origin else {}
    running = stored(ray_cluster("dev-raycluster"), ownerReferences=[owner], labels=labels, **meta)
    running["spec"]["suspend"] = False
    cluster = make_cluster({kinds.RAY_CLUSTERS: [running], kinds.WORKLOADS: [DEV]})
    assert bool(cluster.dependents_of(workload(ray_job("dev")))) is (expected and not meta)


# owner of a Workload -> whether it is the Workload of RayJob dev
WORKLOADS: dict[str, tuple[list[Body], dict[str, Any], bool]] = {
    "its own": ([controlled_by(kinds.RAY_JOBS, "dev")], {}, True),
    "of a RayCluster with its UID": ([controlled_by(kinds.RAY_CLUSTERS, "dev")], {}, False),
    "of another API's RayJob with its UID": ([controlled_by(FOREIGN_JOBS, "dev")], {}, False),
    "its own, without the reference to it": ([], {}, True),
    "its own, without the reference to it and Kueue's label": ([], {"labels": {}}, False),
    "in another namespace, with Kueue's label": ([], ELSEWHERE, False),
    "in another namespace": ([controlled_by(kinds.RAY_JOBS, "dev")], ELSEWHERE, False),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_which_workload_belongs_to_a_job(name: str) -> None:
    owners, meta, expected = WORKLOADS[name]
    body = workload_body(ray_job("dev"), ownerReferences=owners, **meta)
    cluster = make_cluster({kinds.RAY_JOBS: [stored(ray_job("dev"))], kinds.WORKLOADS: [body]})
    (only_workload,) = cluster.workloads.values()
    assert (cluster.workload_of(job(ray_job("dev"))) is not None) is expected
    assert (cluster.job_of(only_workload) is not None) is expected


OF_A_JOB = {JOB_UID_LABEL: "uid-dev"}
# owner and labels of a Workload -> whether it was created without a job
WITHOUT_JOB: dict[str, tuple[list[Body], dict[str, str], bool]] = {
    "a job's": ([controlled_by(kinds.RAY_JOBS, "dev")], OF_A_JOB, False),
    "a job's, without Kueue's label": ([controlled_by(kinds.RAY_JOBS, "dev")], {}, False),
    "a job's that lost its owner": ([], OF_A_JOB, False),
    "a job's that kept another owner": (
        [{**controlled_by(CONFIG_MAPS, "a"), "controller": False}],
        OF_A_JOB,
        False,
    ),
    "a user's": ([], {}, True),
    "another controller's": ([controlled_by(CONFIG_MAPS, "a")], {}, True),
    "another controller's, with Kueue's label": ([controlled_by(CONFIG_MAPS, "a")], OF_A_JOB, True),
    "of another API's RayJob": ([controlled_by(FOREIGN_JOBS, "dev")], {}, True),
}


@pytest.mark.parametrize("name", WITHOUT_JOB)
def test_which_workloads_were_created_without_a_job(name: str) -> None:
    owners, labels, expected = WITHOUT_JOB[name]
    parsed = read(kinds.WORKLOADS, workload_body(ray_job("dev"), ownerReferences=owners, labels=labels))
    assert (ownership.job_of(parsed) is None) is expected


@pytest.mark.parametrize("labels", [{}, OF_A_JOB])
def test_pods_of_a_gang_count_after_its_workload_lost_its_owner(labels: dict[str, str]) -> None:
    """The RayCluster that they run in must be stopped too."""
    body = workload_body(ray_job("dev"), ownerReferences=[], labels=labels)
    owners = {
        "a": controlled_by(kinds.RAY_CLUSTERS, "dev-raycluster"),
        "b": controlled_by(kinds.BATCH_JOBS, "dev"),
    }
    pods = [pod(UID, name, ownerReferences=[owner]) for name, owner in owners.items()]
    objects: dict[Kind[Any], list[Body]] = {
        kinds.RAY_CLUSTERS: [OWN],
        kinds.WORKLOADS: [body],
        kinds.PODS: pods,
    }
    cluster = make_cluster(objects)
    (only_workload,) = cluster.workloads.values()
    assert {p.metadata.name for p in cluster.live_pods_of(only_workload)} == {"a", "b"}
    assert [c.metadata.name for c in cluster.dependents_of(only_workload)] == ["dev-raycluster"]


REQUESTS: dict[str, tuple[Body, bool]] = {
    "its own": (request(), True),
    "in another namespace": (request(**ELSEWHERE), False),
    "of a RayJob with its UID": (
        request(ownerReferences=[controlled_by(kinds.RAY_JOBS, "dev", UID)]),
        False,
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_which_request_belongs_to_a_workload(name: str) -> None:
    body, expected = REQUESTS[name]
    cluster = make_cluster({kinds.WORKLOADS: [DEV], kinds.PROVISIONING_REQUESTS: [body]})
    assert bool(cluster.requests_of(workload(ray_job("dev")))) is expected
