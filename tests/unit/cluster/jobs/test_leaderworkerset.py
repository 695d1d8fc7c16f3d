"""LeaderWorkerSets are counted with the groups of an update, and stopped by their number of groups."""

from typing import Any

import pytest

from components.admission.policies import AdmissionPoliciesArgs, validating_policies
from components.admission.queues import suspending_mutations
from components.controller.rbac import CLUSTER_RULES
from muster.cluster.jobs.leaderworkerset import LEADER_WORKER_SET, pod_set_of
from muster.cluster.pod_sets import pod_set_of as pod_set_of_pod
from muster.cluster.watched_kinds import OPTIONAL
from muster.kube import kinds
from muster.live.acting.jobs import split
from muster.objects.names import COUNT_ANNOTATION, POD_SET_LABEL
from tests.simulation.manifests import WORKER, leader_worker_set
from tests.unit.controller.builders import Body, read, stored

AVAILABLE = {"conditions": [{"type": "Available", "status": "True"}]}
PROGRESSING = {"conditions": [{"type": "Available", "status": "False"}]}
NAME = "leaderworkerset.sigs.k8s.io/name"


def view(body: Body, status: Body | None = None, *, generation: int = 2) -> Any:
    whole = stored({**body, "status": status or {}}, generation=generation)
    return LEADER_WORKER_SET.view(read(kinds.LEADER_WORKER_SETS, whole))


def started(replicas: int = 2, status: Body | None = None, **fields: Any) -> Any:
    body = leader_worker_set("demo", groups=7, **fields)
    return view({**body, "spec": {**body["spec"], "replicas": replicas}}, status)


# the manifest -> pods by pod set
COUNTS: dict[str, tuple[Body, dict[str, int]]] = {
    "one template": (leader_worker_set("demo", groups=2, size=3), {"main": 6}),
    "a template of the leader": (
        leader_worker_set("demo", groups=2, size=3, leaderTemplate=WORKER),
        {"leader": 2, "worker": 4},
    ),
    "leaders alone": (
        leader_worker_set("demo", groups=2, size=1, leaderTemplate=WORKER),
        {"leader": 2, "worker": 0},
    ),
    "an update with a further group": (leader_worker_set("demo", groups=2, max_surge=1), {"main": 6}),
    "more further groups than groups": (leader_worker_set("demo", groups=2, max_surge=5), {"main": 8}),
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_gang_has_all_groups_and_those_of_an_update(name: str) -> None:
    body, counts = COUNTS[name]
    assert {p.name: p.count for p in view(body).pod_sets} == counts


# maxSurge -> further groups of 5; GetScaledValueFromIntOrPercent rounds up
SURGES: dict[str, tuple[int | str, int]] = {
    "a number": (2, 2),
    "a percentage": ("25%", 2),
    "all": ("100%", 5),
    "none": ("0%", 0),
    "negative": (-1, 0),
    "unreadable": ("many", 5),
}


@pytest.mark.parametrize("name", SURGES)
def test_percentages_of_a_surge_are_rounded_up(name: str) -> None:
    surge, groups = SURGES[name]
    body = leader_worker_set("demo", groups=5, size=1)
    body["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]["maxSurge"] = surge
    assert view(body).pod_sets[0].count == 5 + groups


def test_a_running_one_has_the_groups_that_run() -> None:
    assert started(replicas=3).count == 3


# the status of one with 0 replicas -> whether it has stopped
STOPPED: dict[str, tuple[Body, int, bool]] = {
    "just created": ({}, 1, True),
    "without a status, after a change": ({}, 2, False),
    "no leaders, observed": ({**AVAILABLE, "replicas": 0}, 2, True),
    "no leaders, of an older state": ({**PROGRESSING, "replicas": 0}, 2, False),
    "leaders that end": ({**AVAILABLE, "replicas": 1}, 2, False),
}


@pytest.mark.parametrize("name", STOPPED)
def test_it_has_stopped_once_no_leader_is_required(name: str) -> None:
    status, generation, stopped = STOPPED[name]
    job = view(leader_worker_set("demo"), status, generation=generation)
    assert (job.suspended, job.suspended_and_stopped) == (True, stopped)


def test_a_start_is_observed_once_leaders_exist() -> None:
    assert not started(status={**AVAILABLE, "replicas": 0}).start_observed
    assert started(status={**PROGRESSING, "replicas": 1}).start_observed


def test_it_runs_once_all_groups_are_ready() -> None:
    assert not started(status={**PROGRESSING, "replicas": 2, "readyReplicas": 1}).running
    assert started(status={**AVAILABLE, "replicas": 2, "readyReplicas": 2}).running


def test_a_stop_keeps_the_number_of_groups() -> None:
    job = started(replicas=3)
    assert job.suspension == {"metadata": {"annotations": {COUNT_ANNOTATION: "3"}}, "spec": {"replicas": 0}}
    assert dict(view(leader_worker_set("demo", groups=3)).resumption) == {"/spec/replicas": 3}


# the annotation -> the reason why it is not admitted; empty if it is
NUMBERS = {
    "3": "",
    "": "no number of replicas",
    "many": "no number of replicas",
    "2147483647": "lower replicas or size",
}


@pytest.mark.parametrize("number", NUMBERS)
def test_it_needs_a_number_of_groups(number: str) -> None:
    body = leader_worker_set("demo")
    body["metadata"]["annotations"] = {COUNT_ANNOTATION: number}
    assert NUMBERS[number] in (view(body).ineligibility or "")
    assert bool(NUMBERS[number]) is (view(body).ineligibility is not None)


def test_groups_behind_a_partition_are_not_admitted() -> None:
    body = leader_worker_set("demo")
    body["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]["partition"] = 1
    assert "would start from a template without the nodes" in view(body).ineligibility


# labels of a pod, its StatefulSet -> its pod set
PODS: dict[str, tuple[Body, str, str | None]] = {
    "a leader": ({NAME: "demo", POD_SET_LABEL: "leader"}, "demo", "leader"),
    "a worker": ({NAME: "demo", POD_SET_LABEL: "worker"}, "demo-0", "worker"),
    "of another": ({NAME: "demo", POD_SET_LABEL: "worker"}, "demonstration", None),
    "not started by its queue": ({NAME: "demo"}, "demo", None),
    "of no LeaderWorkerSet": ({POD_SET_LABEL: "worker"}, "demo", None),
}


@pytest.mark.parametrize("name", PODS)
def test_its_pods_are_recognized_by_the_label_of_the_start(name: str) -> None:
    labels, creator, pod_set = PODS[name]
    assert pod_set_of(labels, creator) == pod_set
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": creator, "uid": "1", "controller": True}
    meta = {"name": "p", "namespace": "team-a", "labels": labels, "ownerReferences": [owner]}
    assert pod_set_of_pod(read(kinds.PODS, stored({"metadata": meta, "spec": {}}))) == pod_set


def test_it_is_watched_where_it_is_served_and_named() -> None:
    assert kinds.LEADER_WORKER_SETS in OPTIONAL
    assert split("leaderworkerset/demo") == (kinds.LEADER_WORKER_SETS, "demo")
    rules = [(r.resources, r.verbs) for r in CLUSTER_RULES if r.api_groups == ["leaderworkerset.x-k8s.io"]]
    assert (["leaderworkersets"], ["get", "list", "watch", "patch"]) in rules


# the engine -> whether it stops LeaderWorkerSets by their number of groups
ENGINES = {"muster": True, "kueue": False}


@pytest.mark.parametrize("engine", ENGINES)
def test_only_muster_stops_it_by_its_number_of_groups(engine: Any) -> None:
    names = {policy.name for policy in validating_policies(AdmissionPoliciesArgs(engine, False, 5000))}
    assert ("muster-queued-leaderworkersets-stay-as-admitted" in names) is ENGINES[engine]
    assert ("muster-queued-leaderworkersets-are-suspended" in names) is ENGINES[engine]
    mutations = suspending_mutations(engine)
    assert ("muster-suspend-queued-leaderworkersets" in mutations) is ENGINES[engine]
