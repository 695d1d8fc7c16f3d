"""Explains why a workload waits: limits, necessary changes, earlier workloads, preemptions."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest

from muster.live.gang_pods import PodListing
from muster.live.named import workload_named
from muster.live.overview.document import document
from muster.live.overview.overview import overview
from muster.live.overview.why import AHEAD_MAX, Why, why
from muster.live.verdict import VerdictKind
from muster.objects.meta import rfc3339
from tests.simulation.manifests import GPU, PREEMPTION, cluster_queue, quotas, ray_job
from tests.unit.controller.builders import NOW_MS, Body, stored
from tests.unit.live.builders import cluster, finished, running, since, waiting
from tests.unit.live.pods import container, detailed, labelled, pod, waits

URGENT = waiting(ray_job("one", priority="prod-priority"))
DEV = running(ray_job("dev"))
STRICT = [
    cluster_queue(
        "team-a",
        quotas("cpu", cpu=8, memory="32Gi", gpu=0),
        quotas("l4", cpu=16, memory="64Gi", gpu={"nominalQuota": "4", "borrowingLimit": "0"}),
        queueingStrategy="StrictFIFO",
        preemption=PREEMPTION,
    )
]


def of(*workloads: Body, name: str = "rayjob/one", **replaced: Any) -> Why:
    there = cluster(*workloads, **replaced)
    return why(overview(there, NOW_MS), workload_named(name, "team-a", there))


@dataclass(frozen=True)
class Case:
    """`remedy` is a part of one of the remedies; empty: there are none."""

    workloads: tuple[Body, ...]
    answer: VerdictKind | None
    sentence: str
    reason: str = ""
    remedy: str = ""
    replaced: Mapping[str, Any] = field(default_factory=dict)


def later(name: str) -> Body:
    body = waiting(ray_job(name))
    body["metadata"]["creationTimestamp"] = rfc3339(NOW_MS - 10_000)
    return body


INACTIVE = waiting(ray_job("one"))
INACTIVE["spec"]["active"] = False
EVICTED = running(ray_job("one"))
EVICTED["status"]["conditions"].append(since("Evicted", 30, reason="Preempted"))
CHECKED = running(ray_job("one"))
CHECKED["status"] |= {
    "conditions": [since("QuotaReserved", 20)],
    "admissionChecks": [{"name": "nodes", "state": "Pending", "message": "no nodes yet", "retryCount": 2}],
}
HELD_BACK = waiting(ray_job("one"), "Pending")
HELD_BACK["status"]["requeueState"] = {"count": 3, "requeueAt": rfc3339(NOW_MS + 60_000)}

CASES = {
    "it fits": (Case((waiting(ray_job("one")),), VerdictKind.FITS, "It fits in ClusterQueue team-a now")),
    "it preempts": Case(
        (DEV, URGENT), VerdictKind.PREEMPTS, "It fits in ClusterQueue team-a now by preempting one workload."
    ),
    "quota is used": Case(
        (DEV, waiting(ray_job("one"))),
        VerdictKind.WAITS,
        "It waits in ClusterQueue team-a. Reason: needs 4 nvidia.com/gpu",
        "QUOTA",
        "4 more nvidia.com/gpu of flavor l4 become free in ClusterQueue team-a",
    ),
    "it is too large": Case(
        (waiting(ray_job("one", workers=5)),),
        VerdictKind.NEVER,
        "It cannot be admitted in its current form. Reason: needs 5 nvidia.com/gpu",
        "NEVER_FITS",
        "ClusterQueue team-a gets 1 more nvidia.com/gpu of flavor l4 (its maximum is 4)",
    ),
    "it is behind the head": Case(
        (DEV, waiting(ray_job("first")), later("one")),
        VerdictKind.WAITS,
        "It waits in ClusterQueue team-a. Reason: waits behind team-a/rayjob-first",
        "BEHIND_HEAD",
        "the head of the queue, starts or leaves the queue.",
        {"CLUSTER_QUEUES": STRICT},
    ),
    "its queue is stopped": Case(
        (waiting(ray_job("one")),),
        VerdictKind.WAITS,
        "ClusterQueue team-a is stopped (stopPolicy Hold)",
        "QUEUE_STOPPED",
        "An administrator sets spec.stopPolicy of ClusterQueue team-a to None.",
        {"CLUSTER_QUEUES": [cluster_queue("team-a", quotas("cpu", cpu=8, gpu=9), stopPolicy="Hold")]},
    ),
    "its back-off has not ended": Case(
        (HELD_BACK,),
        VerdictKind.WAITS,
        "end of its backoff",
        "BACKOFF",
        f"Its requeue backoff ends at {rfc3339(NOW_MS + 60_000)}.",
    ),
    "it is deactivated": Case(
        (INACTIVE,),
        VerdictKind.WAITS,
        "It waits in ClusterQueue team-a. Reason: the Workload is deactivated",
        "Deactivated",
        "The reason no longer applies: the Workload is deactivated",
    ),
    "it was refused": Case(
        (waiting(ray_job("one"), "Misconfigured"),),
        VerdictKind.NEVER,
        "Reason: as before.",
        "Misconfigured",
        "The reason no longer applies: as before.",
    ),
    "it runs": Case((running(ray_job("one")),), None, "Admitted by ClusterQueue team-a at 2027-"),
    "it waits for its checks": Case(
        (CHECKED,), None, "It waits for its admission checks: nodes: no nodes yet.", "AdmissionChecks"
    ),
    "it is leaving": Case((EVICTED,), None, "Eviction from ClusterQueue team-a started at", "Preempted"),
    "it has ended": Case((finished(ray_job("one")),), None, f"Finished at {rfc3339(NOW_MS - 3_600_000)}."),
}


@pytest.mark.parametrize("name", CASES)
def test_answer_with_its_reason_and_remedy(name: str) -> None:
    case = CASES[name]
    explanation = of(*case.workloads, **case.replaced)
    assert explanation.answer == case.answer
    assert case.sentence in explanation.sentence
    assert explanation.reason == case.reason
    assert (
        any(case.remedy in remedy for remedy in explanation.remedies)
        if case.remedy
        else not explanation.remedies
    )


def test_victims_are_named_with_their_reason() -> None:
    (victim,) = of(DEV, URGENT).preempts
    assert (victim.reason, victim.workload.job, victim.workload.priority) == (
        "InClusterQueue",
        "rayjob/dev",
        100,
    )


def test_what_it_lacks_is_told() -> None:
    (lack, *_) = of(DEV, waiting(ray_job("one"))).lacks
    assert (lack.flavor, lack.resource, lack.needed, lack.available, lack.missing) == ("l4", GPU, 4, 0, 4)


def test_flavors_that_its_pods_can_not_use_are_told() -> None:
    job = deepcopy(ray_job("one"))  # the templates of all jobs are the same object
    job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"]["spec"]["nodeSelector"] = {
        "cloud.google.com/gke-nodepool": "other"
    }
    explanation = of(waiting(job))
    assert explanation.reason == "NO_FLAVOR"
    assert ("l4", "gpu", "NodeSelector") in [(e.flavor, e.pod_set, e.cause) for e in explanation.exclusions]
    assert any(text.startswith("Pod set gpu may use flavor l4, which ") for text in explanation.remedies)


def test_those_ahead_are_the_first_of_the_queue() -> None:
    explanation = of(DEV, later("one"), waiting(ray_job("first")), URGENT | {"metadata": named("urgent")})
    assert [(row.position, row.job) for row in explanation.ahead] == [
        (1, "workload/urgent"),
        (2, "rayjob/first"),
    ]
    assert explanation.workload.position == 3


def named(name: str) -> Body:
    return {**URGENT["metadata"], "name": name, "uid": name, "ownerReferences": []}


def test_only_so_many_ahead_are_listed() -> None:
    first = [waiting(ray_job(f"first-{n}")) for n in range(AHEAD_MAX + 2)]
    explanation = of(*first, later("one"))
    assert len(explanation.ahead) == AHEAD_MAX
    assert explanation.workload.position == AHEAD_MAX + 3


def test_history_has_conditions_and_back_offs() -> None:
    explanation = of(HELD_BACK)
    assert [(event.condition, event.status, event.reason) for event in explanation.history] == [
        ("Created", "True", ""),
        ("QuotaReserved", "False", "Pending"),
    ]
    assert (explanation.requeues, explanation.requeue_ms) == (3, NOW_MS + 60_000)


def test_states_of_checks_are_told() -> None:
    (check,) = of(CHECKED).checks
    assert (check.name, check.state, check.message, check.retries) == ("nodes", "Pending", "no nodes yet", 2)


def test_problems_of_its_pods_are_explained() -> None:
    body = running(ray_job("one"))
    labels = labelled(body["metadata"]["uid"])
    listing = PodListing((detailed(pod("w-1", container(waits("ErrImagePull", "no")), labels=labels)),))
    there = cluster(body)
    workload = workload_named("rayjob/one", "team-a", there)
    explanation = why(overview(there, NOW_MS), workload, listing)
    assert [problem.reason for problem in explanation.pod_problems] == ["ErrImagePull"]
    assert why(overview(there, NOW_MS), workload).pod_problems == ()


def test_pods_that_cannot_be_read_are_not_missing() -> None:
    body = running(ray_job("one"))
    there = cluster(body, RAY_JOBS=[stored(ray_job("one"))])
    workload = workload_named("rayjob/one", "team-a", there)
    unread = why(overview(there, NOW_MS), workload, PodListing(None, "you may not list pods"))
    assert (unread.pod_problems, unread.pods_unread) == ((), "you may not list pods")
    (problem,) = why(overview(there, NOW_MS), workload, PodListing(())).pod_problems
    assert problem.sentence == "KubeRay has created 0 of 5 pods."


def test_a_question_changes_nothing_for_the_next_one() -> None:
    there = cluster(DEV, URGENT)
    observed = overview(there, NOW_MS)
    first, second = (why(observed, workload_named("rayjob/one", "team-a", there)) for _ in range(2))
    assert first == second
    assert observed.engine.snapshot.workloads == observed.state.snapshot().workloads


def test_document_of_an_answer() -> None:
    rendered = document(of(DEV, URGENT))
    assert rendered["answer"] == "preempts"
    assert rendered["preempts"][0]["workload"]["job"] == "rayjob/dev"
    assert rendered["history"][0]["at"] == rfc3339(NOW_MS - 60_000)
    assert document(of(DEV, waiting(ray_job("one"))))["lacks"][0]["missing"] == "4"
