"""Tests that a team cannot bypass quota with LeaderWorkerSets, by stack local's policies."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.dry_runs import Manifest, Target
from tests.stacks.job_requests import GPU_SERVER, NAMESPACE, SERVER, leader_worker_set
from tests.stacks.ray_requests import (
    ADMIN,
    ALICE,
    CONTROLLER,
    create,
    refusal,
    refused_deletion,
    refused_patch,
)
from tests.stacks.updates import Edit, put, remove

UID = "muster.dev/workload-uid"
COUNT = "muster.dev/replicas"
API = "leaderworkerset.x-k8s.io/v1"
GROUP = "/spec/leaderWorkerTemplate"
SURGE: dict[str, Any] = {"maxUnavailable": 1, "maxSurge": 0, "partition": 1}
CLAIM = {"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {}}}

CREATIONS: dict[str, tuple[Manifest, str]] = {
    "a queued one": (leader_worker_set(), ""),
    "with accelerators": (leader_worker_set(leader=GPU_SERVER, worker=GPU_SERVER), ""),
    "with accelerators of the workers, outside of the queues": (
        leader_worker_set(queue="", worker=GPU_SERVER),
        "this LeaderWorkerSet would use them outside of it: add the label",
    ),
    "with accelerators of the leader, outside of the queues": (
        leader_worker_set(queue="", leader=GPU_SERVER),
        "this LeaderWorkerSet would use them outside of it: add the label",
    ),
    "with a Workload's label": (
        leader_worker_set(labels={UID: "1"}),
        f"the label {UID} is set by admission only",
    ),
    "on a node": (
        leader_worker_set(worker={**SERVER, "nodeName": "n"}),
        "a queued LeaderWorkerSet runs where its queue has quota",
    ),
    "without groups": (leader_worker_set(replicas=0), "needs quota for at least one group"),
    "behind a partition": (
        leader_worker_set(rolloutStrategy={"type": "RollingUpdate", "rollingUpdateConfiguration": SURGE}),
        "would start from a template without the nodes",
    ),
}


@pytest.mark.parametrize("name", CREATIONS)
def test_created_ones_can_be_admitted(server: Kubectl, name: str) -> None:
    manifest, message = CREATIONS[name]
    refused = refusal(server, ALICE, manifest)
    assert message in refused
    assert bool(refused) == bool(message)


def test_it_is_created_with_0_replicas(server: Kubectl) -> None:
    created = create(server, ALICE, leader_worker_set(replicas=3))
    assert (created["spec"]["replicas"], created["metadata"]["annotations"][COUNT]) == (0, "3")


def test_an_exported_manifest_keeps_its_number(server: Kubectl) -> None:
    manifest = leader_worker_set(replicas=0)
    manifest["metadata"]["annotations"] = {COUNT: "3"}
    created = create(server, ALICE, manifest)
    assert (created["spec"]["replicas"], created["metadata"]["annotations"][COUNT]) == (0, "3")


def test_its_claims_need_storage(server: Kubectl) -> None:
    manifest = leader_worker_set()
    manifest["spec"]["leaderWorkerTemplate"]["volumeClaimTemplates"] = [CLAIM]
    manifest["metadata"] |= {"namespace": "team-a-unclaimed", "labels": {}}
    assert "not spec.leaderWorkerTemplate.volumeClaimTemplates" in refusal(server, ADMIN, manifest)


@pytest.fixture(scope="module")
def sets(server: Kubectl) -> Kubectl:
    """Adds a waiting LeaderWorkerSet of 2 groups, and another set that its queue has started."""
    for manifest in (leader_worker_set("waiting"), leader_worker_set("started")):
        server.run("create", "-f", "-", *ALICE, stdin=json.dumps(manifest))
    patch = '{"spec": {"replicas": 2}}'
    server.run("patch", "leaderworkerset/started", f"--namespace={NAMESPACE}", "--type=merge", "-p", patch)
    return server


LARGER = "a queued LeaderWorkerSet cannot grow"
EDITS = (
    Edit("apply the manifest again", "waiting", put("/spec/replicas", 2)),
    Edit("apply fewer groups", "waiting", put("/spec/replicas", 1)),
    Edit("apply more groups", "waiting", put("/spec/replicas", 3), LARGER),
    Edit("raise the number", "waiting", put("/metadata/annotations/muster.dev~1replicas", "3"), LARGER),
    Edit("remove the number, which is restored", "waiting", remove("/metadata/annotations")),
    Edit("lower the number", "waiting", put("/metadata/annotations/muster.dev~1replicas", "1")),
    Edit("fewer groups", "started", put("/spec/replicas", 1)),
    Edit("more groups", "started", put("/spec/replicas", 3), LARGER),
    Edit("stop it", "started", put("/spec/replicas", 0)),
    Edit("larger groups", "started", put(f"{GROUP}/size", 9), "keeps spec.leaderWorkerTemplate.size"),
    Edit(
        "more groups in an update",
        "started",
        put("/spec/rolloutStrategy/rollingUpdateConfiguration/maxSurge", 2),
        "spec.rolloutStrategy",
    ),
    Edit("another image", "started", put(f"{GROUP}/workerTemplate/spec/containers/0/image", "new")),
    Edit(
        "larger workers",
        "started",
        put(f"{GROUP}/workerTemplate/spec/containers/0/resources", {"requests": {"cpu": "9"}}),
        "the pods of a queued LeaderWorkerSet keep their resources and nodeSelector",
    ),
    Edit(
        "a larger leader",
        "started",
        put(f"{GROUP}/leaderTemplate", {"spec": GPU_SERVER}),
        "the pods of a queued LeaderWorkerSet keep their resources and nodeSelector",
    ),
    Edit("leave the queue", "waiting", remove("/metadata/labels"), "a LeaderWorkerSet stays in the queue it"),
    Edit(
        "choose a domain",
        "started",
        put("/metadata/annotations/leaderworkerset.sigs.k8s.io~1exclusive-topology", "rack"),
        "keeps its labels and annotations leaderworkerset.sigs.k8s.io/…",
    ),
)


@pytest.mark.parametrize("case", EDITS, ids=str)
def test_a_team_cannot_change_what_quota_is_reserved_for(sets: Kubectl, case: Edit) -> None:
    target = Target(API, "leaderworkerset", case.target, NAMESPACE)
    refused = refused_patch(sets, ALICE, target, [case.patch])
    assert case.message in refused
    assert bool(refused) == bool(case.message)


def test_a_removed_number_is_restored(sets: Kubectl) -> None:
    patch = '{"metadata": {"annotations": null}}'
    options = ("--type=merge", "-p", patch, "--dry-run=server", "-o", "jsonpath={.metadata.annotations}")
    target = ("leaderworkerset/waiting", f"--namespace={NAMESPACE}")
    assert json.loads(sets.run("patch", *target, *options, *ALICE)) == {COUNT: "2"}


def test_the_controller_starts_it(sets: Kubectl) -> None:
    target = Target(API, "leaderworkerset", "waiting", NAMESPACE)
    placed = put(f"{GROUP}/workerTemplate/spec/nodeSelector", {"pool": "gpu"})
    assert refused_patch(sets, CONTROLLER, target, [placed, put("/spec/replicas", 2)]) == ""


def stateful_set(pod: Manifest, **labels: str) -> Manifest:
    """Returns a StatefulSet as the LeaderWorkerSet controller creates it."""
    template = {"metadata": {"labels": {"app": "lws", **labels}}, "spec": pod}
    spec = {"selector": {"matchLabels": {"app": "lws"}}, "serviceName": "lws", "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "leaders", "namespace": NAMESPACE},
        "spec": spec,
    }


SERVICE_ACCOUNT = ("--as=system:serviceaccount:team-a:default", "--as-group=system:authenticated")
# the StatefulSet, the user -> why it may not be created
STATEFUL: dict[str, tuple[Manifest, tuple[str, ...], str]] = {
    "accelerators, of the controller": (stateful_set(GPU_SERVER, **{UID: "1"}), ADMIN, ""),
    "accelerators": (
        stateful_set(GPU_SERVER),
        SERVICE_ACCOUNT,
        "this StatefulSet would use them outside of it",
    ),
    "the label": (
        stateful_set(SERVER, **{UID: "1"}),
        SERVICE_ACCOUNT,
        f"the label {UID} is set by admission",
    ),
}


@pytest.fixture(scope="module")
def editor(server: Kubectl) -> Iterator[Kubectl]:
    """Lets the default service account of team-a write StatefulSets, as the role `edit` does."""
    role = ("--clusterrole=edit", "--serviceaccount=team-a:default", f"--namespace={NAMESPACE}")
    server.run("create", "rolebinding", "editor-of-sets", *role)
    yield server
    server.run("delete", "rolebinding", "editor-of-sets", f"--namespace={NAMESPACE}")


@pytest.mark.parametrize("name", STATEFUL)
def test_only_the_controller_creates_what_holds_quota(editor: Kubectl, name: str) -> None:
    manifest, user, message = STATEFUL[name]
    refused = refusal(editor, user, manifest)
    assert message in refused
    assert bool(refused) == bool(message)


GARBAGE_COLLECTOR = ("--as=system:serviceaccount:kube-system:generic-garbage-collector",)
LEADER_TEMPLATE = "/spec/template/metadata/labels/muster.dev~1workload-uid"
HELD = "the label muster.dev/workload-uid is set by admission only"
PART = "belongs to a LeaderWorkerSet with quota"
# the StatefulSet, the user, the patch -> the refusal
OF_CONTROLLER: dict[str, tuple[str, tuple[str, ...], list[dict[str, Any]], str]] = {
    "more pods": ("held", SERVICE_ACCOUNT, [put("/spec/replicas", 9)], HELD),
    "pods without the label": ("held", SERVICE_ACCOUNT, [remove(LEADER_TEMPLATE)], HELD),
    "no owner": ("held", SERVICE_ACCOUNT, [remove("/metadata/ownerReferences")], PART),
    "a finalizer": ("held", SERVICE_ACCOUNT, [put("/metadata/finalizers", ["a.b/c"])], PART),
    "an annotation": ("held", SERVICE_ACCOUNT, [put("/metadata/annotations", {"a": "b"})], ""),
    "no owner, by the garbage collector": (
        "held",
        GARBAGE_COLLECTOR,
        [remove("/metadata/ownerReferences")],
        "",
    ),
    "more pods, by an administrator": ("held", ADMIN, [put("/spec/replicas", 9)], ""),
    "more pods of another": ("free", SERVICE_ACCOUNT, [put("/spec/replicas", 9)], ""),
}


@pytest.fixture(scope="module")
def stateful_sets(sets: Kubectl, editor: Kubectl) -> Iterator[Kubectl]:
    """Adds a StatefulSet of a LeaderWorkerSet with quota, and a StatefulSet of a team, and lets the
    default service account write scales, as a HorizontalPodAutoscaler does."""
    held, free = stateful_set(SERVER, **{UID: "1"}), stateful_set(SERVER)
    selector = {"leaderworkerset.sigs.k8s.io/name": "started"}
    started = ("leaderworkerset/started", f"--namespace={NAMESPACE}")
    uid = sets.run("get", *started, "-o", "jsonpath={.metadata.uid}")
    owner = {"apiVersion": API, "kind": "LeaderWorkerSet", "name": "started", "uid": uid, "controller": True}
    held["metadata"] |= {"name": "held", "ownerReferences": [owner]}
    held["spec"]["selector"]["matchLabels"] |= selector
    held["spec"]["template"]["metadata"]["labels"] |= selector
    free["metadata"]["name"] = "free"
    editor.create([held, free])
    scaler = ("scaler", f"--namespace={NAMESPACE}")
    scale = "--resource=leaderworkersets.leaderworkerset.x-k8s.io/scale"
    editor.run("create", "role", *scaler, scale, "--verb=get,patch,update")
    editor.run("create", "rolebinding", *scaler, "--role=scaler", "--serviceaccount=team-a:default")
    yield editor
    editor.run("delete", "role/scaler", "rolebinding/scaler", f"--namespace={NAMESPACE}")


@pytest.mark.parametrize("name", OF_CONTROLLER)
def test_stateful_sets_with_quota_are_kept(stateful_sets: Kubectl, name: str) -> None:
    target, user, patch, message = OF_CONTROLLER[name]
    refused = refused_patch(stateful_sets, user, Target("apps/v1", "statefulset", target, NAMESPACE), patch)
    assert message in refused
    assert bool(refused) == bool(message)


GROWN = "cannot grow by its scale"
SET, STATEFUL_SET = (API, "leaderworkerset"), ("apps/v1", "statefulset")
# the kind, its name, the user, the replicas that are written to its scale -> the refusal
SCALES: dict[str, tuple[tuple[str, str], str, tuple[str, ...], int, str]] = {
    "a waiting one is not started": (SET, "waiting", SERVICE_ACCOUNT, 1, GROWN),
    "a running one does not grow": (SET, "started", SERVICE_ACCOUNT, 3, GROWN),
    "a running one stays": (SET, "started", SERVICE_ACCOUNT, 2, ""),
    "a running one shrinks": (SET, "started", SERVICE_ACCOUNT, 1, ""),
    "an administrator": (SET, "waiting", ADMIN, 2, ""),
    "pods of a group": (
        STATEFUL_SET,
        "held",
        SERVICE_ACCOUNT,
        3,
        "only the LeaderWorkerSet controller scales",
    ),
    "fewer pods of a group": (STATEFUL_SET, "held", SERVICE_ACCOUNT, 0, "is part of a LeaderWorkerSet"),
    "another StatefulSet": (STATEFUL_SET, "free", SERVICE_ACCOUNT, 3, ""),
}


@pytest.mark.parametrize("name", SCALES)
def test_the_scale_starts_and_grows_nothing(stateful_sets: Kubectl, name: str) -> None:
    (version, kind), target, user, replicas, message = SCALES[name]
    scale = Target(version, kind, target, NAMESPACE, "scale")
    refused = refused_patch(stateful_sets, user, scale, {"spec": {"replicas": replicas}})
    assert message in refused
    assert bool(refused) == bool(message)


def test_it_is_deleted_with_its_pods(sets: Kubectl) -> None:
    options = (f"--namespace={NAMESPACE}", "--dry-run=server")
    orphaned = refused_deletion(sets, ALICE, "leaderworkerset/started", *options, "--cascade=orphan")
    assert "objects below a queued LeaderWorkerSet are deleted with it" in orphaned
    assert refused_deletion(sets, ALICE, "leaderworkerset/started", *options) == ""
