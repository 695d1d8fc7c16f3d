"""Tests which changes of queued Ray objects users and the engine may make, by stack local's policies."""

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.ray_requests import ADMIN, ALICE, CONTROLLER, QUEUE
from tests.stacks.updates import (
    CHILD,
    CLUSTER,
    FREE,
    GROUPS,
    JOB,
    SERVICE,
    Case,
    Operation,
    change,
    put,
    remove,
)

LABEL = "/metadata/labels/kueue.x-k8s.io~1queue-name"
HEAD = "/spec/rayClusterSpec/headGroupSpec/template/spec"


def sized(target: str, key: str, value: object) -> Operation:
    return put(f"{GROUPS[target]}/0/{key}", value)


def resumed_by_its_queue(kind: str, path: str = "spec.suspend") -> str:
    return (
        f"{path} of a queued {kind} is managed by its queue, which resumes it when the whole gang fits: "
        "do not change it (why it waits: kubectl get workloads)"
    )


def moved(kind: str) -> str:
    return (
        f"a {kind} stays in the queue it was created in, or outside all queues: to change its label {QUEUE}, "
        "delete it and create it again"
    )


def grown(kind: str) -> str:
    return (
        f"a queued {kind} cannot grow, as quota is reserved for the size at its creation: you may "
        "lower replicas, minReplicas, maxReplicas, numOfHosts or remove worker groups; for a larger gang, "
        "delete it and create it again"
    )


def resized(kind: str) -> str:
    return (
        f"the pods of a queued {kind} keep their resources and nodeSelector, because quota is reserved for "
        "them: to change them, delete it and create it again"
    )


AUTOSCALED = (
    "the quota of a queued RayJob depends on whether it is autoscaled: to change spec.rayClusterSpec."
    "enableInTreeAutoscaling, delete it and create it again"
)
SECOND_CLUSTER = (
    "this change makes KubeRay start a second cluster without quota, in addition to the admitted one: "
    "change only serveConfigV2 and replicas, or delete it and create it again"
)
KEPT = (
    "a queued RayJob needs spec.shutdownAfterJobFinishes: true, or KubeRay can't suspend it while it waits "
    "for quota"
)
ANOTHER_GROUP = {
    "groupName": "more",
    "replicas": 1,
    "minReplicas": 1,
    "maxReplicas": 1,
    "rayStartParams": {},
    "template": {"spec": {"containers": [{"name": "worker", "image": "ray"}]}},
}
MORE = {"requests": {"cpu": "8"}}
CPU = "template/spec/containers/0/resources/requests/cpu"

START = put("/spec/suspend", False)
SERVE = put("/spec/rayClusterConfig/suspend", False)
NEW_IMAGE = put("/spec/rayClusterConfig/headGroupSpec/template/spec/containers/0/image", "ray:2")

CASES = [
    # Starting
    Case("a user starts a RayJob", ALICE, JOB, START, resumed_by_its_queue("RayJob")),
    Case("a user starts a RayCluster", ALICE, CLUSTER, START, resumed_by_its_queue("RayCluster")),
    Case(
        "a user removes the field",
        ALICE,
        CLUSTER,
        remove("/spec/suspend"),
        resumed_by_its_queue("RayCluster"),
    ),
    Case(
        "a user starts a RayService",
        ALICE,
        SERVICE,
        SERVE,
        resumed_by_its_queue("RayService", "spec.rayClusterConfig.suspend"),
    ),
    Case("the controller starts a RayJob", CONTROLLER, JOB, START),
    Case("the controller starts a RayCluster", CONTROLLER, CLUSTER, START),
    Case("the controller starts a RayService", CONTROLLER, SERVICE, SERVE),
    Case("an administrator starts a RayJob", ADMIN, JOB, START),
    Case("a user suspends a running cluster", ALICE, CHILD, put("/spec/suspend", True)),
    # Moving
    Case("a user changes the queue", ALICE, JOB, put(LABEL, "other"), moved("RayJob")),
    Case("a user leaves the queue", ALICE, CLUSTER, remove(LABEL), moved("RayCluster")),
    Case(
        "a user queues a running cluster",
        ALICE,
        FREE,
        put("/metadata/labels", {QUEUE: "x"}),
        moved("RayCluster"),
    ),
    Case("a user moves a job's own cluster", ALICE, CHILD, remove(LABEL), moved("RayCluster")),
    Case("a user changes another label", ALICE, JOB, put("/metadata/labels/stage", "two")),
    # Growing
    Case("more replicas", ALICE, JOB, sized(JOB, "replicas", 5), grown("RayJob")),
    Case("a higher minimum", ALICE, CLUSTER, sized(CLUSTER, "minReplicas", 3), grown("RayCluster")),
    Case("a higher maximum", ALICE, SERVICE, sized(SERVICE, "maxReplicas", 9), grown("RayService")),
    Case("more hosts a replica", ALICE, JOB, sized(JOB, "numOfHosts", 2), grown("RayJob")),
    Case("another group", ALICE, JOB, put(f"{GROUPS[JOB]}/-", ANOTHER_GROUP), grown("RayJob")),
    Case("a group of another name", ALICE, JOB, sized(JOB, "groupName", "new"), grown("RayJob")),
    Case(
        "more replicas of a job's own cluster", ALICE, CHILD, sized(CHILD, "replicas", 3), grown("RayCluster")
    ),
    Case("KubeRay grows a job's own cluster", ADMIN, CHILD, sized(CHILD, "replicas", 3)),
    Case("a user grows an unqueued cluster", ALICE, FREE, put("/spec/workerGroupSpecs/0/replicas", 3)),
    Case("fewer replicas", ALICE, JOB, sized(JOB, "replicas", 1)),
    Case("fewer groups", ALICE, CLUSTER, remove(f"{GROUPS[CLUSTER]}/0")),
    Case("fewer replicas of a service", ALICE, SERVICE, sized(SERVICE, "replicas", 1)),
    Case("autoscaling", ALICE, JOB, put("/spec/rayClusterSpec/enableInTreeAutoscaling", True), AUTOSCALED),
    # Larger pods
    Case("larger workers", ALICE, JOB, sized(JOB, CPU, "8"), resized("RayJob")),
    Case("larger workers of a cluster", ALICE, CLUSTER, sized(CLUSTER, CPU, "8"), resized("RayCluster")),
    Case("a larger head", ALICE, JOB, put(f"{HEAD}/containers/0/resources", MORE), resized("RayJob")),
    Case(
        "another container",
        ALICE,
        JOB,
        put(f"{HEAD}/containers/-", {"name": "sidecar", "image": "x", "resources": MORE}),
        resized("RayJob"),
    ),
    Case(
        "an init container",
        ALICE,
        JOB,
        put(f"{HEAD}/initContainers", [{"name": "first", "image": "x", "resources": MORE}]),
        resized("RayJob"),
    ),
    Case("devices by claim", ALICE, JOB, put(f"{HEAD}/resourceClaims", [{"name": "gpu"}]), resized("RayJob")),
    Case("other nodes", ALICE, JOB, put(f"{HEAD}/nodeSelector", {"pool": "h100"}), resized("RayJob")),
    Case(
        "a submitter with its own resources",
        ALICE,
        JOB,
        put(
            "/spec/submitterPodTemplate",
            {"spec": {"containers": [{"name": "submitter", "image": "x", "resources": MORE}]}},
        ),
        resized("RayJob"),
    ),
    Case("another image", ALICE, JOB, put(f"{HEAD}/containers/0/image", "rayproject/ray:2.47.0")),
    Case("the controller places it", CONTROLLER, JOB, put(f"{HEAD}/nodeSelector", {"pool": "l4"})),
    # Fields that preemption relies on
    Case(
        "a RayJob that stays after it finishes",
        ALICE,
        JOB,
        put("/spec/shutdownAfterJobFinishes", False),
        KEPT,
    ),
    # Upgrades of services
    Case("an upgrade next to the running service", ALICE, SERVICE, NEW_IMAGE, SECOND_CLUSTER),
    Case("one group less", ALICE, SERVICE, remove(f"{GROUPS[SERVICE]}/0"), SECOND_CLUSTER),
    Case("other applications", ALICE, SERVICE, put("/spec/serveConfigV2", "applications: []")),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_updates_of_queued_objects_are_checked(server: Kubectl, case: Case) -> None:
    assert change(server, case, [case.patch]) == case.message


def test_a_service_without_upgrades_may_change(server: Kubectl) -> None:
    case = Case("", ALICE, SERVICE, NEW_IMAGE)
    in_place = put("/spec/upgradeStrategy", {"type": "None"})
    assert change(server, case, [in_place, NEW_IMAGE]) == ""
