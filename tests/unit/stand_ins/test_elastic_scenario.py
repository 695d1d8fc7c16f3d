"""The milestones of the elastic scenario: in a correct run, and in runs that go wrong; and a job's sizes."""

import pytest

from sandbox.scenarios.elastic import ELASTIC
from sandbox.scenarios.elastic_in_pods import is_grown
from sandbox.scenarios.milestones import check
from sandbox.scenarios.observations import JobRef, ObservedChange, ObservedObjects
from sandbox.scenarios.worker_sizes import WorkerSizes, worker_sizes
from tests.unit.stand_ins.observed import conditions, obj, story

JOB, PROD = JobRef("RayJob", "t", "elastic"), JobRef("RayJob", "t", "prod")
ROLES = {"elastic": JOB, "prod": PROD}
START, LATER, LAST = (f"2030-01-01T12:00:{second}Z" for second in ("01", "30", "59"))
ADMITTED = {"QuotaReserved": ("True", "x"), "Admitted": ("True", "x")}


def change(kind: str, *args: object, **fields: object) -> ObservedChange:
    return ObservedChange(0, kind, obj(*args, **fields))  # type: ignore[arg-type]


def job(status: str = "RUNNING") -> ObservedChange:
    group = {"groupName": "cpu", "minReplicas": 1, "maxReplicas": 3}
    spec = {"rayClusterSpec": {"enableInTreeAutoscaling": True, "workerGroupSpecs": [group]}}
    ray_job = change("RayJob", "elastic", spec=spec, status={"jobStatus": status})
    ray_job.obj["metadata"]["annotations"] = {"sandbox.muster.dev/workers": "cpu=3"}
    return ray_job


def workload(granted: int, **more: tuple[str, str]) -> ObservedChange:
    assigned = [{"name": "head", "count": 1}, {"name": "cpu", "count": granted}]
    status = conditions(**ADMITTED, **more) | {"admission": {"podSetAssignments": assigned}}
    return change("Workload", "w-elastic", owner="elastic", status=status)


def cluster(limit: int, asked: int) -> ObservedChange:
    groups = [{"groupName": "cpu", "maxReplicas": limit, "replicas": asked}]
    return change("RayCluster", "elastic-abcde", owner="elastic", spec={"workerGroupSpecs": groups})


def pods(workers: int, *, head: str = START) -> list[ObservedChange]:
    """Returns the head and this many workers, that run, of three."""
    own = {"ray.io/cluster": "elastic-abcde"}
    heads = [change("Pod", "h", labels={**own, "ray.io/node-type": "head"}, created=head, status=RUNNING)]
    return heads + [
        ObservedChange(
            0, "Pod", obj(f"w{n}", labels={**own, "ray.io/group": "cpu"}, status=RUNNING), n >= workers
        )
        for n in range(3)
    ]


RUNNING = {"phase": "Running"}


def prod(status: str, deployment: str) -> ObservedChange:
    spec = {"rayClusterSpec": {"workerGroupSpecs": [{"replicas": 0}]}}
    state = {"jobStatus": status, "jobDeploymentStatus": deployment, "jobId": "prod-id"}
    return change("RayJob", "prod", spec=spec, status=state)


def prod_admitted() -> list[ObservedChange]:
    admitted = conditions(**ADMITTED)
    for condition in admitted["conditions"]:
        condition["lastTransitionTime"] = LATER
    head = change("Pod", "p", labels={"ray.io/cluster": "prod-abcde"}, created=LAST, status=RUNNING)
    return [change("Workload", "w-prod", owner="prod", status=admitted), prod("RUNNING", "Running"), head]


STARTS = [job(), workload(1)]
GROWS = [*pods(3), cluster(3, 3), workload(3)]
PREEMPTED = [prod("", "Suspended"), workload(1, Shrinking=("True", "Preempted"))]
PROD_RUNS = [*pods(1), cluster(1, 1), workload(1), *prod_admitted()]
PROD_DONE = [prod("SUCCEEDED", "Complete")]
GROWS_AGAIN = [*pods(3), workload(3)]
GOOD = [STARTS, GROWS, PREEMPTED, PROD_RUNS, PROD_DONE, GROWS_AGAIN]
TITLES = [milestone.title for milestone in ELASTIC.milestones]


def problems(*by_milestone: list[ObservedChange]) -> dict[str, str]:
    results = check(ELASTIC, story(*by_milestone), ROLES)
    return {result.title: result.problem for result in results if result.problem}


def test_a_correct_run_reaches_all_milestones() -> None:
    assert problems(*GOOD) == {}


@pytest.mark.parametrize(
    ("number", "instead", "title"),
    [
        pytest.param(0, [job(), workload(2)], TITLES[0], id="it starts with more than its minimum"),
        pytest.param(1, [*pods(2), cluster(3, 3), workload(3)], TITLES[1], id="a worker does not start"),
        pytest.param(2, [prod("", "Suspended")], TITLES[2], id="there is no notice"),
        pytest.param(
            3, [*pods(1, head=LAST), workload(1), *prod_admitted()], TITLES[4], id="the head is replaced"
        ),
        pytest.param(
            3,
            [*pods(1), workload(1, Evicted=("True", "Preempted")), *prod_admitted()],
            TITLES[4],
            id="the whole gang is evicted",
        ),
        pytest.param(5, [], TITLES[6], id="it does not grow again"),
    ],
)
def test_a_run_that_goes_wrong_misses_a_milestone(
    number: int, instead: list[ObservedChange], title: str
) -> None:
    assert title in str(problems(*GOOD[:number], instead, *GOOD[number + 1 :]))


def test_the_sizes_are_those_of_the_job_alone() -> None:
    observed = ObservedObjects()
    other = obj("x", labels={"ray.io/cluster": "other-abcde", "ray.io/group": "cpu"}, status=RUNNING)
    for observation in (job(), workload(3), cluster(5, 4), *pods(2), ObservedChange(0, "Pod", other)):
        observed.apply(observation)
    assert worker_sizes(observed, JOB) == WorkerSizes(granted=3, limit=5, asked=4, running=2)
    assert worker_sizes(ObservedObjects(), JOB) == WorkerSizes()


@pytest.mark.parametrize(
    ("granted", "limit", "running", "grown"),
    [
        pytest.param(7, 7, 7, True, id="all that fits"),
        pytest.param(7, 8, 7, False, id="another fits"),
        pytest.param(7, 7, 6, False, id="a worker is starting"),
        pytest.param(1, 1, 1, False, id="the minimum"),
    ],
)
def test_growth_ends_when_all_that_fits_runs(granted: int, limit: int, running: int, grown: bool) -> None:
    assert is_grown(WorkerSizes(granted, limit, granted, running)) is grown
