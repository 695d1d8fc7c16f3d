"""JobSets are counted by their replicated jobs, and stopped once all of their Jobs have stopped."""

from typing import Any

import pytest

from components.admission.policies import AdmissionPoliciesArgs, validating_policies
from components.controller.rbac import CLUSTER_RULES
from muster.cluster.jobs.batch_job import BATCH_JOB, pod_set_of
from muster.cluster.jobs.job import JobOutcome
from muster.cluster.jobs.jobset import JOB_SET
from muster.cluster.watched_kinds import OPTIONAL
from muster.controller.passes.reconcile import reconcile
from muster.kube import kinds
from muster.kube.writes import Create, Delete, JsonPatch, MergePatch, Overwrite, Write
from tests.simulation.manifests import job_set, replicated_job, template
from tests.unit.controller.builders import (
    NOW_MS,
    Body,
    controlled_by,
    make_cluster,
    read,
    stored,
    workload_of,
)

SUSPENDED = {"conditions": [{"type": "Suspended", "status": "True"}]}
RESUMED = {"conditions": [{"type": "Suspended", "status": "False"}]}
STARTED = {**RESUMED, "startTime": "2026-01-01T00:00:00Z"}
COMPLETE = {"conditions": [{"type": "Complete", "status": "True"}]}
FAILED = {"conditions": [{"type": "Failed", "status": "True"}]}
DOMAIN = "jobset.sigs.k8s.io"
POOL = {"cloud.google.com/gke-nodepool": "l4"}


def jobset(status: Body | None = None, *replicated: Body, **spec: Any) -> Body:
    body = {**job_set("demo", *replicated, **spec), "status": status or {}}
    return stored(body, generation=2)


def part(index: int, status: Body | None = None, *, run: int = 0, of: str = "workers", **spec: Any) -> Body:
    """Returns a Job that the JobSet controller created."""
    name = f"demo-{of}-{index}"
    labels = {
        "jobset-name": "demo",
        "jobset-uid": "uid-demo",
        "replicatedjob-name": of,
        "restart-attempt": str(run),
    }
    meta = {
        "name": name,
        "namespace": "team-a",
        "labels": {f"{DOMAIN}/{key}": value for key, value in labels.items()},
        "ownerReferences": [controlled_by(kinds.JOB_SETS, "demo")],
    }
    fixed = {"suspend": True, "parallelism": 2, "template": template("main", cpu=1)}
    return stored({"metadata": meta, "spec": {**fixed, **spec}, "status": status or SUSPENDED})


def view(body: Body, *parts: Body) -> Any:
    jobs = (BATCH_JOB.view(read(kinds.BATCH_JOBS, part)) for part in parts)
    return JOB_SET.view(read(kinds.JOB_SETS, body), *jobs)


def replicated(name: str, replicas: int, parallelism: int, completions: int) -> Body:
    body = replicated_job(name, replicas=replicas, pods=parallelism)
    body["template"]["spec"]["completions"] = completions
    return body


# Kueue v0.19.2 pkg/controller/jobs/jobset/jobset_controller_test.go: TestPodSets
COUNTS: dict[str, tuple[list[Body], list[tuple[str, int]]]] = {
    "no annotations": (
        [replicated("job1", 2, 1, 1), replicated("job2", 3, 2, 3)],
        [("job1", 2), ("job2", 6)],
    ),
    "fewer completions than parallelism": ([replicated("job1", 2, 4, 3)], [("job1", 6)]),
}


@pytest.mark.parametrize("name", COUNTS)
def test_each_replicated_job_is_a_pod_set(name: str) -> None:
    jobs, counts = COUNTS[name]
    assert [(p.name, p.count) for p in view(jobset(None, *jobs)).pod_sets] == counts


# jobset_controller_test.go: TestPodsReady
READY: dict[str, tuple[list[tuple[str, int, int]], bool]] = {
    "all jobs are ready": ([("replicated-job-1", 1, 1), ("replicated-job-2", 3, 0)], True),
    "not all jobs are ready": ([("replicated-job-1", 1, 0), ("replicated-job-2", 1, 2)], False),
}


@pytest.mark.parametrize("name", READY)
def test_it_runs_once_all_of_its_jobs_are_ready(name: str) -> None:
    states, ready = READY[name]
    jobs = (replicated("replicated-job-1", 2, 1, 1), replicated("replicated-job-2", 3, 1, 1))
    status = [{"name": job, "ready": count, "succeeded": ended} for job, count, ended in states]
    assert view(jobset({"replicatedJobsStatus": status}, *jobs, suspend=False)).running is ready


# jobset_controller_test.go: TestReclaimablePods
RECLAIMABLE: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    "no status": ({}, {}),
    "single job done": ({"replicated-job-1": 1}, {"replicated-job-1": 2}),
    "single job partial done": ({"replicated-job-2": 1}, {"replicated-job-2": 3}),
    "all done": (
        {"replicated-job-1": 1, "replicated-job-2": 2},
        {"replicated-job-1": 2, "replicated-job-2": 6},
    ),
}
TWO = (replicated("replicated-job-1", 1, 2, 2), replicated("replicated-job-2", 2, 3, 6))


def reclaimable(succeeded: dict[str, int], status: Body, *, run: int = 0, **spec: Any) -> dict[str, int]:
    states = [{"name": name, "succeeded": count} for name, count in succeeded.items()]
    parts = [
        part(i, COMPLETE, of=name, run=run, suspend=False)
        for name, count in succeeded.items()
        for i in range(count)
    ]
    body = jobset({"replicatedJobsStatus": states, **status}, *TWO, suspend=False, **spec)
    return {pods.name: pods.count for pods in view(body, *parts).reclaimable_pods}


@pytest.mark.parametrize("name", RECLAIMABLE)
def test_pods_of_jobs_that_succeeded_are_reclaimable(name: str) -> None:
    succeeded, pods = RECLAIMABLE[name]
    assert reclaimable(succeeded, {}) == pods


IGNORED = [{"name": "any", "action": "RestartJobSetAndIgnoreMaxRestarts"}]
ALL_RESTARTED = {"restarts": 2, "restartsCountTowardsMax": 2}
# status, run of the Jobs, failure policy -> whether pods are reclaimable
RESTARTS: dict[str, tuple[Body, int, Body, bool]] = {
    "no restarts": ({}, 0, {}, True),
    "restarts remain": ({"restarts": 1, "restartsCountTowardsMax": 1}, 1, {"maxRestarts": 2}, False),
    "no restarts remain": (ALL_RESTARTED, 2, {"maxRestarts": 2}, True),
    "successes of the last run": (ALL_RESTARTED, 1, {"maxRestarts": 2}, False),
    "unlimited restarts": ({}, 0, {"rules": IGNORED}, False),
}


@pytest.mark.parametrize("name", RESTARTS)
def test_a_restart_needs_the_pods_of_all_jobs(name: str) -> None:
    status, run, policy, expected = RESTARTS[name]
    pods = reclaimable({"replicated-job-1": 1}, status, run=run, failurePolicy=policy)
    assert pods == ({"replicated-job-1": 2} if expected else {})


# the JobSet, its Jobs -> reported_stopped, start_observed
STATES: dict[str, tuple[Body, list[Body], tuple[bool, bool]]] = {
    "never started": (stored(job_set("demo"), generation=1), [], (True, True)),
    "suspended, all Jobs stopped": (jobset(SUSPENDED), [part(0), part(1)], (True, True)),
    "a Job is still running": (jobset(SUSPENDED), [part(0), part(1, STARTED, suspend=False)], (False, True)),
    "a Job has an active pod": (jobset(SUSPENDED), [part(0, {**SUSPENDED, "active": 1})], (False, True)),
    "a Job has succeeded": (jobset(SUSPENDED), [part(0), part(1, COMPLETE, suspend=False)], (True, True)),
    "a failed Job is created again": (jobset(SUSPENDED), [part(0, FAILED, suspend=False)], (False, True)),
    "its Jobs are created again": (jobset(SUSPENDED), [], (False, True)),
    "no pods": (jobset(SUSPENDED, replicated_job("a", replicas=0)), [], (True, True)),
    "resumed, not observed": (jobset(SUSPENDED, suspend=False), [part(0)], (True, False)),
    "resumed": (jobset(RESUMED, suspend=False), [part(0, STARTED, suspend=False)], (False, True)),
    "Jobs start in order": (
        jobset(SUSPENDED, suspend=False),
        [part(0, STARTED, suspend=False), part(1)],
        (False, True),
    ),
}


@pytest.mark.parametrize("name", STATES)
def test_states(name: str) -> None:
    body, parts, expected = STATES[name]
    gang = view(body, *parts)
    assert (gang.reported_stopped, gang.start_observed) == expected


ENDS: dict[str, tuple[str, JobOutcome | None]] = {
    "completed": ("Completed", JobOutcome(True, "all jobs")),
    "failed": ("Failed", JobOutcome(False, "all jobs")),
    "in progress": ("StartupPolicyInProgress", None),
}


@pytest.mark.parametrize("name", ENDS)
def test_end(name: str) -> None:
    kind, outcome = ENDS[name]
    condition = {"type": kind, "status": "True", "message": "all jobs"}
    assert view(jobset({"conditions": [condition]})).outcome == outcome


def writes(of: Body, *parts: Body, workloads: list[Body]) -> list[Write]:
    """Returns the writes of a pass."""
    objects: dict[kinds.AnyKind, list[Body]] = {
        kinds.JOB_SETS: [of],
        kinds.BATCH_JOBS: list(parts),
        kinds.WORKLOADS: workloads,
    }
    planned = reconcile(make_cluster(objects), NOW_MS).writes
    return [p.write for p in (*planned.stops, *planned.before_reservations, *planned.reservations)]


def workload(*true: str) -> Body:
    return workload_of(view(jobset()), *true)


ADMITTED = ("QuotaReserved", "Admitted")


def test_it_gets_a_workload_and_its_jobs_get_none() -> None:
    (created,) = writes(jobset(SUSPENDED), part(0), part(1), workloads=[])
    assert isinstance(created, Create)
    assert [(p["name"], p["count"]) for p in created.body["spec"]["podSets"]] == [("workers", 4)]


def test_it_starts_with_its_placement() -> None:
    (started,) = writes(jobset(SUSPENDED), part(0), part(1), workloads=[workload(*ADMITTED)])
    assert isinstance(started, JsonPatch)
    paths = {operation["path"]: operation["value"] for operation in started.operations}
    assert paths["/spec/suspend"] is False
    pods = "/spec/replicatedJobs/0/template/spec/template"
    assert paths[f"{pods}/spec/nodeSelector"] == POOL


# Placement of a Job of the last run -> whether it is deleted before the next start
PLACEMENTS: dict[str, tuple[Body, bool]] = {
    "the same": ({"nodeSelector": POOL}, False),
    "another label": ({"nodeSelector": {"spot": "true"}}, True),
    "another toleration": ({"tolerations": [{"key": "spot", "operator": "Exists"}]}, True),
    "exclusive placement": ({"nodeSelector": {f"alpha.{DOMAIN}/namespaced-job": "a_b"}}, False),
}


@pytest.mark.parametrize("name", PLACEMENTS)
def test_jobs_with_the_placement_of_another_flavor_are_created_again(name: str) -> None:
    """The JobSet controller adds placement to its Jobs and removes none."""
    placement, deleted = PLACEMENTS[name]
    pod = template("main", cpu=1)["spec"]
    old = part(1, template={"spec": {**pod, **placement}})
    planned = writes(jobset(SUSPENDED), part(0), old, workloads=[workload(*ADMITTED)])
    deletion = Delete(kinds.BATCH_JOBS, "team-a/demo-workers-1", uid="uid-demo-workers-1")
    assert (planned == [deletion]) is deleted
    assert any(isinstance(write, JsonPatch) for write in planned) is not deleted


# Domains of the admission -> whether the JobSet starts: one is named by node selectors
DOMAINS: dict[str, tuple[list[str], bool]] = {"one domain": (["a"], True), "two domains": (["a", "b"], False)}


@pytest.mark.parametrize("name", DOMAINS)
def test_it_starts_in_a_single_domain_only(name: str) -> None:
    """JobSet's webhook allows no change of an affinity, which names several domains."""
    domains, starts = DOMAINS[name]
    admitted = workload(*ADMITTED)
    (assigned,) = admitted["status"]["admission"]["podSetAssignments"]
    parts = [
        {
            "domainCount": 1,
            "podCounts": {"universal": 4 // len(domains)},
            "valuesPerLevel": [{"universal": domain}],
        }
        for domain in domains
    ]
    assigned["topologyAssignment"] = {"levels": ["rack"], "slices": parts}
    planned = writes(jobset(SUSPENDED), part(0), part(1), workloads=[admitted])
    assert any(isinstance(write, JsonPatch) for write in planned) is starts
    messages = [str(write.body) for write in planned if isinstance(write, MergePatch)]
    refused = any("require a topology in which the pods fit into a single domain" in m for m in messages)
    assert refused is not starts


def test_it_is_suspended_without_quota() -> None:
    running = jobset(RESUMED, replicated_job("workers", replicas=9), suspend=False)
    parts = [part(0, STARTED, suspend=False)]
    planned = writes(running, *parts, workloads=[workload_of(view(running))])
    assert Overwrite(kinds.JOB_SETS, "team-a/demo", {"spec": {"suspend": True}}, "uid-demo") in planned


PODS: dict[str, tuple[dict[str, str], str | None]] = {
    "of a JobSet": ({"jobset-name": "demo", "replicatedjob-name": "workers"}, "workers"),
    "of a Job that names a replicated job": ({"replicatedjob-name": "leader"}, "main"),
    "of a Job": ({}, "main"),
}


@pytest.mark.parametrize("name", PODS)
def test_pods_belong_to_the_replicated_job(name: str) -> None:
    labels, pod_set = PODS[name]
    own = {"batch.kubernetes.io/job-name": "demo-workers-0"}
    own |= {f"{DOMAIN}/{key}": value for key, value in labels.items()}
    assert pod_set_of(own, "demo-workers-0") == pod_set
    assert pod_set_of(own, "another") is None


def test_clusters_may_lack_it() -> None:
    assert JOB_SET.kind in OPTIONAL


def test_the_controller_may_delete_its_jobs() -> None:
    rules = [(rule.api_groups, rule.resources, rule.verbs) for rule in CLUSTER_RULES]
    assert (["batch"], ["jobs"], ["delete"]) in rules


@pytest.mark.parametrize("what", ["can-be-admitted", "stay-as-admitted"])
def test_policies_protect_it_in_queues(what: str) -> None:
    policies = {p.name: p for p in validating_policies(AdmissionPoliciesArgs("muster", True, 5000))}
    policy = policies[f"muster-queued-jobsets-{what}"]
    assert (policy.group, policy.version, policy.resources) == (
        "jobset.x-k8s.io",
        "v1alpha2",
        ("jobsets",),
    )
