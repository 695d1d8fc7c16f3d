"""Admission of a queued gang's ownership, shape and pods by stack local's policies."""

import copy
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.dry_runs import Manifest, User, expect_refusal
from tests.stacks.ray_requests import (
    ADMIN,
    ALICE,
    CONTROLLER,
    child,
    raycluster,
    rayjob,
    rayservice,
    refusal,
    refused_deletion,
    unqueued,
)
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
from tests.stacks.worker_groups import WORKER, group

COLLECTOR: User = (
    "--as=system:serviceaccount:kube-system:generic-garbage-collector",
    "--as-group=system:serviceaccounts:kube-system",
    "--as-group=system:authenticated",
)
MINE = {"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": "1", "controller": True}
PLAIN = {**MINE, "controller": False}
ANNOTATION = "kueue.x-k8s.io/podset-"
UID = "muster.dev/workload-uid"


class Creation(NamedTuple):
    """A manifest with one value set at a path, and a part of the message that refuses it, or nothing."""

    name: str
    make: Callable[[], Manifest]
    path: str
    value: Any
    message: str = ""
    user: User = ALICE

    def __str__(self) -> str:
        return self.name

    @property
    def manifest(self) -> Manifest:
        manifest = copy.deepcopy(self.make())
        *path, last = self.path.split("/")
        here: Any = manifest
        for part in path:
            here = here[int(part)] if isinstance(here, list) else here.setdefault(part, {})
        if isinstance(here, list):
            here.insert(int(last), self.value)
        else:
            here[last] = self.value
        return manifest


def annotated(key: str, value: str) -> tuple[str, dict[str, str]]:
    return "spec/headGroupSpec/template/metadata/annotations", {f"{ANNOTATION}{key}": value}


POD = "spec/headGroupSpec/template"
IN_JOB = "spec/rayClusterSpec/headGroupSpec/template"
FIRST_GROUP = "spec/workerGroupSpecs/0"
OWNED = "only KubeRay makes a queued RayCluster part of another object"
FINALIZED = "has no finalizers but KubeRay's"
MANAGED = "is run by KubeRay, or its queue could not stop it"
SIZED = "needs 0 <= minReplicas <= maxReplicas"
NEGATIVE = "minReplicas"  # two policies refuse it
NAMED = "must consist of at most 63 letters, digits and hyphens, and not be one of head, submitter"
TWICE = "can't have the same groupName"
BACKOFF = "needs backoffLimit >= 0"
TTL = "set ttlSecondsAfterFinished to at most 3600"
WAITS = "are scheduled as soon as it is admitted"
OURS = "are set by its admission: remove them"
LABEL = f"the label {UID} is set by admission only"
TOPOLOGY = "must be a node label that is a level of a Topology"
SLICES = "must be a JSON list of one to three objects"
ORIGIN = "ray.io/originated-from-crd"

CREATIONS = [
    # Ownership
    Creation("an owner that controls it", raycluster, "metadata/ownerReferences", [MINE], OWNED),
    Creation("an owner that does not", raycluster, "metadata/ownerReferences", [PLAIN]),
    Creation("an owner, unqueued", unqueued, "metadata/ownerReferences", [MINE]),
    Creation("KubeRay's own", child, "metadata/labels/stage", "two", user=ADMIN),
    Creation("a finalizer", raycluster, "metadata/finalizers", ["example.com/mine"], FINALIZED),
    Creation("a RayJob's finalizer", rayjob, "metadata/finalizers", ["foregroundDeletion"], FINALIZED),
    Creation("a finalizer, unqueued", unqueued, "metadata/finalizers", ["example.com/mine"]),
    Creation("another manager", raycluster, "spec/managedBy", "kueue.x-k8s.io/multikueue", MANAGED),
    Creation(
        "another manager of a job's cluster",
        rayjob,
        "spec/rayClusterSpec/managedBy",
        "kueue.x-k8s.io/multikueue",
        MANAGED,
    ),
    Creation("KubeRay as its manager", raycluster, "spec/managedBy", "ray.io/kuberay-operator"),
    # Worker groups
    Creation("two groups with one name", raycluster, "spec/workerGroupSpecs/1", group("gpu"), TWICE),
    Creation("two groups", raycluster, "spec/workerGroupSpecs/1", group("more")),
    Creation("a group named head", raycluster, "spec/workerGroupSpecs/1", group("head"), NAMED),
    Creation(
        "a group named submitter", rayjob, "spec/rayClusterSpec/workerGroupSpecs/1", group("submitter"), NAMED
    ),
    Creation("a group with an invalid name", raycluster, "spec/workerGroupSpecs/1", group("a_b"), NAMED),
    Creation("a group without a name", raycluster, "spec/workerGroupSpecs/1", group(""), NAMED),
    Creation("no groups at all", raycluster, "spec/workerGroupSpecs", []),
    Creation(
        "as many groups as a Workload has pod sets",
        raycluster,
        "spec/workerGroupSpecs",
        [group(f"g{i}") for i in range(17)],
    ),
    Creation(
        "one group too many",
        raycluster,
        "spec/workerGroupSpecs",
        [group(f"g{i}") for i in range(18)],
        "has at most 17 worker groups",
    ),
    Creation(
        "a hundred groups",
        rayjob,
        "spec/rayClusterSpec/workerGroupSpecs",
        [group(f"g{i}") for i in range(100)],
        "has at most 16 worker groups",
    ),
    Creation("a maximum below the minimum", raycluster, f"{FIRST_GROUP}/maxReplicas", 1, SIZED),
    Creation("a negative minimum", raycluster, f"{FIRST_GROUP}/minReplicas", -1, NEGATIVE),
    Creation("negative replicas", raycluster, f"{FIRST_GROUP}/replicas", -1, NEGATIVE),
    Creation("no hosts", raycluster, f"{FIRST_GROUP}/numOfHosts", 0, SIZED),
    Creation(
        "fewer replicas than the minimum, which KubeRay raises", raycluster, f"{FIRST_GROUP}/replicas", 1
    ),
    # Jobs
    Creation("a negative backoff limit", rayjob, "spec/backoffLimit", -1, BACKOFF),
    Creation("a deadline of zero", rayjob, "spec/activeDeadlineSeconds", 0, BACKOFF),
    Creation("retries", rayjob, "spec/backoffLimit", 2),
    Creation("a deadline", rayjob, "spec/activeDeadlineSeconds", 60),
    Creation("pods kept for two hours", rayjob, "spec/ttlSecondsAfterFinished", 7200, TTL),
    Creation("a negative ttl", rayjob, "spec/ttlSecondsAfterFinished", -1, TTL),
    Creation("pods kept for an hour", rayjob, "spec/ttlSecondsAfterFinished", 3600),
    # Pods
    Creation(
        "pods with a finalizer", raycluster, f"{POD}/metadata/finalizers", ["a.b/c"], "have no finalizers"
    ),
    Creation(
        "a grace period too long", raycluster, f"{POD}/spec/terminationGracePeriodSeconds", 301, "300 s"
    ),
    Creation("the longest grace period", raycluster, f"{POD}/spec/terminationGracePeriodSeconds", 300),
    Creation("a nodeName", rayjob, f"{IN_JOB}/spec/nodeName", "node-1", "remove nodeName"),
    Creation("a foreign scheduler", raycluster, f"{POD}/spec/schedulerName", "mine", WAITS),
    Creation("the default scheduler", raycluster, f"{POD}/spec/schedulerName", "default-scheduler"),
    Creation(
        "a foreign scheduler of workers",
        rayjob,
        "spec/rayClusterSpec/workerGroupSpecs/0/template/spec/schedulerName",
        "mine",
        WAITS,
    ),
    Creation(
        "a foreign scheduler of the submitter",
        rayjob,
        "spec/submitterPodTemplate",
        {"spec": {**WORKER["spec"], "schedulerName": "mine"}},
        WAITS,
    ),
    Creation("a scheduling gate", raycluster, f"{POD}/spec/schedulingGates", [{"name": "a.b/c"}], WAITS),
    Creation("a foreign scheduler, unqueued", unqueued, f"{POD}/spec/schedulerName", "mine"),
    Creation("no containers", raycluster, f"{POD}/spec/containers", [], "needs a container"),
    Creation(
        "capacity of another gang's request",
        raycluster,
        f"{POD}/metadata/annotations",
        {"autoscaling.x-k8s.io/consume-provisioning-request": "theirs"},
        OURS,
    ),
    Creation(
        "an annotation of the controller",
        rayjob,
        "spec/submitterPodTemplate",
        {"metadata": {"annotations": {"muster.dev/written-out": "true"}}, **WORKER},
        OURS,
    ),
    Creation(
        "a maximum of resizes",
        raycluster,
        f"{POD}/metadata/annotations",
        {"muster.dev/max-cpu": "64"},
        OURS,
    ),
    # Quota
    Creation("the label of a Workload", raycluster, f"{POD}/metadata/labels", {UID: "theirs"}, LABEL),
    Creation("the label, unqueued", unqueued, f"{POD}/metadata/labels", {UID: "theirs"}, LABEL),
    Creation("the label in a group's labels", unqueued, "spec/headGroupSpec/labels", {UID: "theirs"}, LABEL),
    Creation(
        "the label of workers", rayjob, "spec/rayClusterSpec/workerGroupSpecs/0/labels", {UID: "x"}, LABEL
    ),
    Creation(
        "the label of the submitter",
        rayjob,
        "spec/submitterPodTemplate",
        {"metadata": {"labels": {UID: "theirs"}}, **WORKER},
        LABEL,
    ),
    Creation(
        "the label of a service",
        rayservice,
        f"spec/rayClusterConfig/{POD[5:]}/metadata/labels",
        {UID: "x"},
        LABEL,
    ),
    Creation("other labels", raycluster, f"{POD}/metadata/labels", {"team": "a"}),
    Creation(
        "the label of a RayService's cluster", unqueued, "metadata/labels", {ORIGIN: "RayService"}, ORIGIN
    ),
    # Topology
    Creation(
        "an invalid boolean",
        raycluster,
        *annotated("unconstrained-topology", "yes"),
        "must be true or false",
    ),
    Creation("a boolean", raycluster, *annotated("unconstrained-topology", "true")),
    Creation("an invalid level", raycluster, *annotated("required-topology", "not a label"), TOPOLOGY),
    Creation("a level", raycluster, *annotated("preferred-topology", "cloud.google.com/gce-topology-block")),
    Creation("an invalid size", raycluster, *annotated("slice-size", "four"), "must be a number of pods"),
    Creation("a size", raycluster, *annotated("slice-size", "4")),
    Creation("invalid JSON", raycluster, *annotated("slice-required-topology-constraints", "[{]"), SLICES),
    Creation(
        "JSON that is no list", raycluster, *annotated("slice-required-topology-constraints", "{}"), SLICES
    ),
    Creation(
        "a size that is a string",
        raycluster,
        *annotated("slice-required-topology-constraints", '[{"topology": "b", "size": "4"}]'),
        SLICES,
    ),
    Creation(
        "slices",
        raycluster,
        *annotated(
            "slice-required-topology-constraints",
            '[{"topology": "block", "size": 4}, {"size": 2, "topology":"rack"}]',
        ),
    ),
]


@pytest.mark.parametrize("case", CREATIONS, ids=str)
def test_creations_of_gangs_are_checked(server: Kubectl, case: Creation) -> None:
    error = refusal(server, case.user, case.manifest)
    assert case.message in error
    assert bool(error) is bool(case.message)


def test_objects_of_the_older_version_are_checked_too(server: Kubectl) -> None:
    older = raycluster() | {"apiVersion": "ray.io/v1alpha1"}
    older["metadata"]["finalizers"] = ["example.com/mine"]
    assert FINALIZED in refusal(server, ALICE, older)


MORE_TIME = "a running RayCluster keeps the labels"
PODS = "keep the fields of their placement, priority and shutdown"
SETTINGS = "keeps the settings that KubeRay checks before it suspends it"
MARKS = f"keep their label {UID} and the annotations that place them"
PRIORITY = "/metadata/labels/kueue.x-k8s.io~1priority-class"
SPEC = {
    JOB: "/spec/rayClusterSpec",
    CLUSTER: "/spec",
    CHILD: "/spec",
    SERVICE: "/spec/rayClusterConfig",
    FREE: "/spec",
}


def of_head(target: str, path: str, value: object) -> Operation:
    return put(f"{SPEC[target]}/headGroupSpec/template/{path}", value)


def of_workers(target: str, path: str, value: object) -> Operation:
    return put(f"{GROUPS[target]}/0/{path}", value)


TOLERATE = [{"operator": "Exists"}]
NEAR = {f"{ANNOTATION}required-topology": "cloud.google.com/gce-topology-block"}
UPDATES = [
    # Ownership
    Case("an owner", ALICE, CLUSTER, put("/metadata/ownerReferences", [MINE]), OWNED),
    Case("an owner of a running cluster", ALICE, CHILD, put("/metadata/ownerReferences", [MINE]), OWNED),
    Case("another owner next to its job", ALICE, CHILD, put("/metadata/ownerReferences/-", PLAIN), OWNED),
    Case("its owner removed", ALICE, CHILD, remove("/metadata/ownerReferences"), OWNED),
    Case("an owner, unqueued", ALICE, FREE, put("/metadata/ownerReferences", [MINE])),
    Case("a finalizer", ALICE, JOB, put("/metadata/finalizers", ["example.com/mine"]), FINALIZED),
    Case("orphans", ALICE, CLUSTER, put("/metadata/finalizers", ["orphan"]), FINALIZED),
    Case("KubeRay's finalizer", ADMIN, JOB, put("/metadata/finalizers", ["ray.io/rayjob-finalizer"])),
    Case("another manager", ALICE, CHILD, put("/spec/managedBy", "kueue.x-k8s.io/multikueue"), MANAGED),
    # Inputs of the admission decision
    Case("a higher priority while it runs", ALICE, CHILD, put(PRIORITY, "prod-priority"), MORE_TIME),
    Case("a higher priority while it waits", ALICE, CLUSTER, put(PRIORITY, "prod-priority")),
    Case(
        "a run time while it runs",
        ALICE,
        CHILD,
        put("/metadata/labels/kueue.x-k8s.io~1max-exec-time-seconds", "5"),
        MORE_TIME,
    ),
    Case(
        "an invalid run time",
        ALICE,
        CLUSTER,
        put("/metadata/labels/kueue.x-k8s.io~1max-exec-time-seconds", "soon"),
        "must be a number of seconds",
    ),
    Case(
        "parameters of its request while it runs",
        ALICE,
        CHILD,
        put("/metadata/annotations", {"provreq.kueue.x-k8s.io/ValidUntilSeconds": "1"}),
        MORE_TIME,
    ),
    Case("other annotations", ALICE, CHILD, put("/metadata/annotations", {"note": "mine"})),
    # Where pods run
    Case("tolerations", ALICE, JOB, of_head(JOB, "spec/tolerations", TOLERATE), PODS),
    Case(
        "tolerations of workers", ALICE, CHILD, of_workers(CHILD, "template/spec/tolerations", TOLERATE), PODS
    ),
    Case("a priority of pods", ALICE, JOB, of_head(JOB, "spec/priorityClassName", "dev-priority"), PODS),
    Case("another scheduler", ALICE, JOB, of_head(JOB, "spec/schedulerName", "mine"), PODS),
    Case("another grace period", ALICE, JOB, of_head(JOB, "spec/terminationGracePeriodSeconds", 30), PODS),
    Case("a runtime class", ALICE, JOB, of_head(JOB, "spec/runtimeClassName", "gvisor"), PODS),
    Case("a scheduling gate", ALICE, JOB, of_head(JOB, "spec/schedulingGates", [{"name": "a.b/c"}]), PODS),
    Case("the controller tolerates", CONTROLLER, JOB, of_head(JOB, "spec/tolerations", TOLERATE)),
    Case("a topology", ALICE, JOB, of_head(JOB, "metadata", {"annotations": NEAR}), MARKS),
    Case(
        "an unreadable annotation",
        ALICE,
        CHILD,
        of_workers(CHILD, "template/metadata", {"annotations": {f"{ANNOTATION}unconstrained-topology": "?"}}),
        MARKS,
    ),
    Case(
        "the label of a Workload", ALICE, CLUSTER, of_head(CLUSTER, "metadata", {"labels": {UID: "x"}}), UID
    ),
    Case(
        "the label in a group's labels",
        ALICE,
        FREE,
        put("/spec/headGroupSpec/labels", {UID: "theirs"}),
        LABEL,
    ),
    Case(
        "the label, unqueued",
        ALICE,
        FREE,
        of_head(FREE, "metadata", {"labels": {UID: "x"}}),
        LABEL,
    ),
    Case("the label by the controller", CONTROLLER, JOB, of_head(JOB, "metadata", {"labels": {UID: "x"}})),
    Case("another label of pods", ALICE, JOB, of_head(JOB, "metadata", {"labels": {"team": "a"}})),
    # Fields that KubeRay checks before it suspends
    Case("a negative backoff limit", ALICE, JOB, put("/spec/backoffLimit", -1), SETTINGS),
    Case("another way to submit", ALICE, JOB, put("/spec/submissionMode", "HTTPMode"), SETTINGS),
    Case("an environment that is invalid YAML", ALICE, JOB, put("/spec/runtimeEnvYAML", "["), SETTINGS),
    Case(
        "a cluster's upgrade strategy",
        ALICE,
        CHILD,
        put("/spec/upgradeStrategy", {"type": "Recreate"}),
        SETTINGS,
    ),
    Case(
        "fault tolerance",
        ALICE,
        CHILD,
        put("/spec/gcsFaultToleranceOptions", {"redisAddress": "x"}),
        SETTINGS,
    ),
    Case("token authentication", ALICE, CHILD, put("/spec/authOptions", {"mode": "token"}), SETTINGS),
    Case("invalid labels", ALICE, CHILD, of_workers(CHILD, "labels", {"not a label": ""}), SETTINGS),
    Case(
        "Ray's start parameters", ALICE, CHILD, of_workers(CHILD, "rayStartParams", {"labels": "x"}), SETTINGS
    ),
    Case(
        "Redis in an environment variable",
        ALICE,
        CHILD,
        of_head(CHILD, "spec/containers/0/env", [{"name": "RAY_REDIS_ADDRESS", "value": "x"}]),
        SETTINGS,
    ),
    Case(
        "another environment variable",
        ALICE,
        CHILD,
        of_head(CHILD, "spec/containers/0/env", [{"name": "LEVEL", "value": "debug"}]),
    ),
    Case(
        "KubeRay's annotations",
        ALICE,
        SERVICE,
        put("/metadata/annotations", {"ray.io/initializing-timeout": "never"}),
        "keeps its labels and annotations ray.io/",
    ),
    Case("another program", ALICE, JOB, put("/spec/entrypoint", "python other.py")),
    Case("pods kept for a day", ALICE, JOB, put("/spec/ttlSecondsAfterFinished", 86400), TTL),
    Case("pods kept for a minute", ALICE, JOB, put("/spec/ttlSecondsAfterFinished", 60)),
    # Shape
    Case("a maximum below the minimum", ALICE, CLUSTER, of_workers(CLUSTER, "maxReplicas", 1), SIZED),
    Case("no hosts", ALICE, CLUSTER, of_workers(CLUSTER, "numOfHosts", 0), SIZED),
    Case(
        "a finalizer of pods",
        ALICE,
        JOB,
        of_head(JOB, "metadata", {"finalizers": ["a.b/c"]}),
        "no finalizers",
    ),
]


@pytest.mark.parametrize("case", UPDATES, ids=str)
def test_updates_of_gangs_are_checked(server: Kubectl, case: Case) -> None:
    error = change(server, case, [case.patch])
    assert case.message in error
    assert bool(error) is bool(case.message)


def test_a_duplicate_group_name_is_refused_on_update(server: Kubectl) -> None:
    again = put(f"{GROUPS[CLUSTER]}/-", raycluster()["spec"]["workerGroupSpecs"][0])
    assert TWICE in change(server, Case("", ALICE, CLUSTER, again), [again])


def test_the_largest_gang_can_shrink(server: Kubectl) -> None:
    """The policies stay within the API server's cost limit for a request."""
    largest = raycluster("largest")
    largest["spec"]["workerGroupSpecs"] = [group(f"g{i}", replicas=2) for i in range(17)]
    server.run("create", "-f", "-", *ALICE, stdin=json.dumps(largest))
    fewer = put("/spec/workerGroupSpecs/16/replicas", 1)
    assert change(server, Case("", ALICE, "raycluster/largest", fewer), [fewer]) == ""


def test_a_gang_of_large_templates_is_within_the_cost_limit(server: Kubectl) -> None:
    """Many worker groups and much text, in a RayJob, whose policies cost most."""
    many = {f"team.example.com/key-{i}": "x" * 40 for i in range(30)}
    environment = [{"name": f"VARIABLE_{i}", "value": "x" * 40} for i in range(60)]
    template = {
        "metadata": {"labels": many, "annotations": many},
        "spec": {"containers": [{**WORKER["spec"]["containers"][0], "env": environment} for _ in range(1)]},
    }
    large = rayjob("large")
    groups = [{**group(f"g{i}", replicas=2, maxReplicas=2), "template": template} for i in range(16)]
    large["spec"]["rayClusterSpec"]["workerGroupSpecs"] = groups
    server.run("create", "-f", "-", *ALICE, stdin=json.dumps(large))
    fewer = put("/spec/rayClusterSpec/workerGroupSpecs/15/replicas", 1)
    assert change(server, Case("", ALICE, "rayjob/large", fewer), [fewer]) == ""


def test_a_service_is_never_upgraded_with_a_second_cluster(server: Kubectl) -> None:
    service = rayservice("in-place")
    service["spec"]["upgradeStrategy"] = {"type": "None"}
    server.run("create", "-f", "-", *ALICE, stdin=json.dumps(service))
    beside = put("/spec/upgradeStrategy/type", "NewCluster")
    error = change(server, Case("", ALICE, "rayservice/in-place", beside), [beside])
    assert "is never upgraded with a second cluster" in error
    in_place = put("/spec/upgradeStrategy", {"type": "None"})
    assert change(server, Case("", ALICE, SERVICE, in_place), [in_place]) == ""


def test_an_existing_finalizer_can_be_removed(server: Kubectl) -> None:
    server.run("create", "-f", "-", *ALICE, stdin=json.dumps(rayjob("held")))
    held = put("/metadata/finalizers", ["example.com/theirs"])
    server.run("patch", "rayjob/held", "--namespace=team-a", "--type=json", "--patch", json.dumps([held]))
    removed = remove("/metadata/finalizers")
    assert change(server, Case("", ALICE, "rayjob/held", removed), [removed]) == ""


@pytest.mark.parametrize(
    ("cascade", "message"),
    [("orphan", "with the propagation policy Background or"), ("foreground", ""), ("background", "")],
)
def test_a_job_is_not_deleted_with_orphan_propagation(server: Kubectl, cascade: str, message: str) -> None:
    at = (JOB, "--namespace=team-a", "--dry-run=server", f"--cascade={cascade}")
    expect_refusal(refused_deletion(server, ALICE, *at), message)


@pytest.mark.parametrize(
    ("user", "target", "message"),
    [
        pytest.param(
            ALICE, CHILD, "delete the RayJob or RayService that it belongs to", id="a job's cluster"
        ),
        pytest.param(ALICE, CLUSTER, "", id="its own RayCluster"),
        pytest.param(ALICE, FREE, "", id="an unqueued RayCluster"),
        pytest.param(COLLECTOR, CHILD, "", id="a job's cluster, by the garbage collector"),
        pytest.param(ADMIN, CHILD, "", id="a job's cluster, by an administrator"),
    ],
)
def test_a_users_deletion_of_a_jobs_ray_cluster_is_refused(
    server: Kubectl, user: User, target: str, message: str
) -> None:
    expect_refusal(refused_deletion(server, user, target, "--namespace=team-a", "--dry-run=server"), message)


def test_a_manifest_can_be_applied_again_after_placement(server: Kubectl) -> None:
    """kubectl apply does not remove fields that the manifest never had."""
    manifest = raycluster("applied")
    manifest["spec"]["workerGroupSpecs"] = []
    server.run("apply", "-f", "-", *ALICE, stdin=json.dumps(manifest))
    labels = {"op": "add", "path": f"/{POD}/metadata", "value": {"labels": {UID: "x"}}}
    pool = {"op": "add", "path": f"/{POD}/spec/nodeSelector", "value": {"pool": "cpu"}}
    start = put("/spec/suspend", False)
    placed = ("patch", "raycluster/applied", "--namespace=team-a", "--type=json")
    server.run(*placed, "--patch", json.dumps([labels, pool, start]), *CONTROLLER)
    server.run("apply", "-f", "-", *ALICE, stdin=json.dumps(manifest))
    applied = json.loads(server.run("get", "raycluster/applied", "--namespace=team-a", "-o", "json"))
    template = applied["spec"]["headGroupSpec"]["template"]
    assert template["metadata"]["labels"] == {UID: "x"}
    assert template["spec"]["nodeSelector"] == {"pool": "cpu"}
