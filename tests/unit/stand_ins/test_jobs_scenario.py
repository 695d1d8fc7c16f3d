"""The seven milestones of the jobs scenario: in a correct run, and in runs that go wrong."""

import pytest

from sandbox.scenarios.jobs import JOBS
from sandbox.scenarios.milestones import check
from sandbox.scenarios.observations import JobRef, ObservedChange, ObservedObjects
from sandbox.scenarios.timeline import JobPhase, Timeline, bars, phase
from tests.unit.stand_ins.observed import conditions, gang, node, obj, story

DEV, PROD = JobRef("RayJob", "t", "dev"), JobRef("RayJob", "t", "prod")
ROLES = {"dev": DEV, "prod": PROD}
LATER = "2030-01-01T12:00:30Z"


def job(name: str, status: str, deployment: str) -> ObservedChange:
    spec = {"rayClusterSpec": {"workerGroupSpecs": [{"replicas": 2}]}}
    body = {"jobStatus": status, "jobDeploymentStatus": deployment, "jobId": f"{name}-id"}
    return ObservedChange(0, "RayJob", obj(name, spec=spec, status=body))


def workload(name: str, **of_type: tuple[str, str]) -> ObservedChange:
    return ObservedChange(
        0, "Workload", obj(f"rayjob-{name}", uid=f"w-{name}", owner=name, status=conditions(**of_type))
    )


def provisioning_request(status: str) -> ObservedChange:
    body = conditions(Provisioned=(status, "x")) | {
        "provisioningClassDetails": {"ResizeRequestName": "resize"}
    }
    return ObservedChange(0, "ProvisioningRequest", obj("request", owner="w-prod", status=body))


ADMITTED = {"QuotaReserved": ("True", "x"), "Admitted": ("True", "x")}
EVICTED = {
    "QuotaReserved": ("False", "Pending"),
    "Admitted": ("False", "x"),
    "Evicted": ("True", "Preempted"),
}

# A correct run, one list of changes per milestone.
DEV_RUNS = [
    node("gpu", "earlier"),
    workload("dev", **ADMITTED),
    *gang("dev"),
    job("dev", "RUNNING", "Running"),
]
PROD_WAITS = [job("prod", "", "Suspended"), workload("prod", QuotaReserved=("False", "Pending"))]
DEV_PREEMPTED = [workload("dev", **EVICTED), job("dev", "", "Suspended"), *gang("dev", gone=True)]
PROD_PROVISIONED = [node("n1", "resize"), node("n2", "resize"), provisioning_request("True")]
PROD_ADMITTED = [workload("prod", **ADMITTED), *gang("prod")]
PROD_DONE = [*gang("prod", gone=True), job("prod", "SUCCEEDED", "Complete")]
DEV_DONE = [workload("dev", **ADMITTED), job("dev", "SUCCEEDED", "Complete")]
GOOD = [DEV_RUNS, PROD_WAITS, DEV_PREEMPTED, PROD_PROVISIONED, PROD_ADMITTED, PROD_DONE, DEV_DONE]
TITLES = [milestone.title for milestone in JOBS.milestones]


def without(number: int) -> list[list[ObservedChange]]:
    return GOOD[: number - 1] + GOOD[number:]


def instead(number: int, changes: list[ObservedChange]) -> list[list[ObservedChange]]:
    return [*GOOD[: number - 1], changes, *GOOD[number:]]


def test_correct_run_reaches_the_seven_milestones_in_order() -> None:
    milestones = check(JOBS, story(*GOOD), ROLES)
    assert [m.problem for m in milestones] == [""] * 7
    ends = [len(story(*GOOD[: n + 1])) - 1 for n in range(7)]
    assert [m.at for m in milestones] == ends


@pytest.mark.parametrize(
    ("story_changes", "number", "problem"),
    [
        pytest.param([], 1, "not observed", id="nothing happened"),
        pytest.param(instead(1, DEV_RUNS[1:]), 1, "not observed", id="dev not on a GPU node"),
        pytest.param(
            instead(1, [*DEV_RUNS[:-2], DEV_RUNS[-1]]), 1, "not observed", id="only part of dev's gang runs"
        ),
        pytest.param(without(2), 2, "not observed", id="production never waits"),
        pytest.param(instead(3, DEV_PREEMPTED[:-1]), 3, "not observed", id="a pod of dev remains"),
        pytest.param(
            instead(3, [workload("dev", Evicted=("True", "Deactivated")), *DEV_PREEMPTED[1:]]),
            3,
            "not observed",
            id="evicted for another reason",
        ),
        pytest.param(
            [DEV_RUNS, PROD_WAITS, PROD_PROVISIONED, DEV_PREEMPTED, PROD_ADMITTED, PROD_DONE, DEV_DONE],
            4,
            f"observed before: {TITLES[2]}",
            id="provisioned before dev is preempted",
        ),
        pytest.param(
            instead(
                4, [node("n1", "resize"), node("n2", "resize", created=LATER), provisioning_request("True")]
            ),
            4,
            "not observed",
            id="nodes created one by one",
        ),
        pytest.param(
            instead(
                4, [node("n1", "resize"), node("n2", "resize", ready="False"), provisioning_request("True")]
            ),
            4,
            "not observed",
            id="Provisioned with a node that is not ready",
        ),
        pytest.param(
            instead(4, [*PROD_PROVISIONED[:2], provisioning_request("False")]),
            4,
            "not observed",
            id="not Provisioned",
        ),
        pytest.param(instead(5, [PROD_ADMITTED[0], *gang("prod", 2)]), 5, "not observed", id="half a gang"),
        pytest.param(
            instead(5, [PROD_ADMITTED[0], *gang("prod", created="2030-01-01T11:59:59Z")]),
            5,
            "not observed",
            id="pods older than the admission",
        ),
        pytest.param(instead(6, [job("prod", "FAILED", "Failed")]), 6, "not observed", id="production fails"),
        pytest.param(
            without(3), 7, f"observed without: {TITLES[2]}", id="dev succeeds without being preempted"
        ),
    ],
)
def test_wrong_run_misses_its_milestone_with_a_reason(
    story_changes: list[list[ObservedChange]], number: int, problem: str
) -> None:
    assert check(JOBS, story(*story_changes), ROLES)[number - 1].problem == problem


def test_phases_of_a_correct_jobs_run_are_recorded() -> None:
    observed, timeline = ObservedObjects(), Timeline()
    for change in story(*GOOD):
        observed.apply(change)
        for ref in (DEV, PROD):
            timeline.record(change.at, ref.name, phase(observed, ref))
    phases = {name: [p for _, p in rows] for name, rows in timeline.changes.items()}
    assert phases == {
        "dev": [JobPhase.RUNNING, JobPhase.PREEMPTED, JobPhase.RUNNING, JobPhase.DONE],
        "prod": [JobPhase.WAITING, JobPhase.RUNNING, JobPhase.DONE],
    }


def test_bars_show_every_phase_however_short() -> None:
    rows = [
        (0.0, JobPhase.WAITING),
        (4.0, JobPhase.PROVISIONING),
        (4.1, JobPhase.RUNNING),
        (9.0, JobPhase.DONE),
    ]
    lines = bars({"a": rows, "longer": [(5.0, JobPhase.WAITING)]}, until=10.0, width=10)
    assert lines[:2] == ["a      |....+#### |", "longer |     .....|"]
    assert lines[2].endswith("10 s")
