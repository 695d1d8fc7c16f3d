"""The milestones of the serving scenario with each engine: in a correct run, and in runs that go wrong."""

import pytest

from sandbox.scenarios.milestones import check
from sandbox.scenarios.observations import JobRef, ObservedChange, ObservedObjects
from sandbox.scenarios.serving import serving
from sandbox.scenarios.timeline import JobPhase, Timeline, phase
from tests.unit.stand_ins.observed import conditions, gang, node, obj, story

TRAIN, LLM = JobRef("RayCluster", "t", "train"), JobRef("RayService", "t", "llm")
ROLES = {"training": TRAIN, "inference": LLM}
GROUPS = {"workerGroupSpecs": [{"replicas": 2}]}
EVICTED = {"Evicted": ("True", "Preempted"), "QuotaReserved": ("False", "Pending")}
ADMITTED = {"QuotaReserved": ("True", "x"), "Admitted": ("True", "x")}


def training(**of_type: tuple[str, str]) -> ObservedChange:
    return ObservedChange(0, "RayCluster", obj("train", spec=GROUPS, status=conditions(**of_type)))


def service(
    ready: str = "False", endpoints: int = 0, gone: bool = False, **applications: str
) -> ObservedChange:
    statuses = {name: {"status": status} for name, status in applications.items()}
    status = {
        **conditions(Ready=(ready, "x")),
        "numServeEndpoints": endpoints,
        "activeServiceStatus": {"applicationStatuses": statuses},
    }
    return ObservedChange(0, "RayService", obj("llm", spec={"rayClusterConfig": GROUPS}, status=status), gone)


def workload(of: str, **of_type: tuple[str, str]) -> ObservedChange:
    return ObservedChange(0, "Workload", obj(f"w-{of}", owner=of, status=conditions(**of_type)))


def pod_group(of: str, members: int = 3) -> ObservedChange:
    return ObservedChange(
        0, "PodGroup", obj(f"pg-{of}", owner=of, spec={"queue": "team", "minMember": members})
    )


def train_gang(*, gone: bool = False, phase: str = "Running", pods: int = 3) -> list[ObservedChange]:
    return gang("train", pods, cluster="train", gone=gone, phase=phase)


NODE = node("gpu", "earlier")
TRAINS = [NODE, training()]
SERVES = [service("True", 2, llm="RUNNING")]
LEAVES = [*gang("llm", gone=True), service(gone=True)]
# A correct run, one list of changes per milestone.
MUSTER = [
    [*TRAINS, workload("train", **ADMITTED), *train_gang()],
    [
        service(),
        workload("train", **EVICTED),
        *train_gang(gone=True),
        training(RayClusterSuspended=("True", "x")),
    ],
    [workload("llm", **ADMITTED), *gang("llm")],
    SERVES,
    [*LEAVES, workload("train", **ADMITTED), *train_gang()],
]
KAI = [
    [*TRAINS, pod_group("train"), *train_gang()],
    [service(), *train_gang(gone=True), *train_gang(phase="Pending", pods=1)],
    [*train_gang(phase="Pending"), pod_group("llm"), *gang("llm")],
    SERVES,
    [*LEAVES, *train_gang()],
]
GOOD = {"muster": MUSTER, "kai": KAI}


@pytest.mark.parametrize("engine", GOOD)
def test_correct_run_reaches_the_five_milestones_in_order(engine: str) -> None:
    milestones = check(serving(engine), story(*GOOD[engine]), ROLES)
    assert [m.problem for m in milestones] == [""] * 5
    ends = [len(story(*GOOD[engine][: n + 1])) - 1 for n in range(5)]
    assert [m.at for m in milestones] == ends


@pytest.mark.parametrize(
    ("engine", "number", "changes"),
    [
        pytest.param("muster", 1, [NODE, training(), *train_gang(pods=2)], id="half of the training runs"),
        pytest.param("muster", 2, [*MUSTER[1][:-1]], id="pods gone, but the cluster not suspended"),
        pytest.param("muster", 2, [*MUSTER[1][:3], MUSTER[1][-1]], id="a pod of the training remains"),
        pytest.param("kai", 2, [service(), *train_gang(phase="Running")], id="nothing is evicted"),
        pytest.param(
            "kai", 2, [service(), *train_gang(phase="Pending", pods=2)], id="one worker keeps its node"
        ),
        pytest.param("kai", 3, [pod_group("llm", 2), *gang("llm")], id="a PodGroup of fewer pods"),
        pytest.param("kai", 3, [pod_group("llm"), *gang("llm", 2)], id="half of the inference runs"),
        pytest.param("kai", 3, gang("llm"), id="not scheduled by KAI"),
        pytest.param("muster", 3, gang("llm"), id="runs without being admitted"),
        pytest.param("muster", 4, [service("True", 2, llm="DEPLOYING")], id="an application deploys"),
        pytest.param("muster", 4, [service("True", 2, a="RUNNING", b="DEPLOYING")], id="one of two deploys"),
        pytest.param("muster", 4, [service("True", 0, llm="RUNNING")], id="no endpoint"),
        pytest.param("muster", 4, [service("False", 2, llm="RUNNING")], id="not ready"),
        pytest.param("muster", 5, train_gang(), id="training and inference at the same time"),
        pytest.param("muster", 5, LEAVES, id="training does not resume"),
    ],
)
def test_wrong_run_misses_its_milestone(engine: str, number: int, changes: list[ObservedChange]) -> None:
    milestone = check(serving(engine), story(*GOOD[engine][: number - 1], changes), ROLES)[number - 1]
    assert milestone.problem == "not observed"


@pytest.mark.parametrize("engine", GOOD)
def test_phases_of_a_correct_serving_run_are_recorded(engine: str) -> None:
    observed, timeline = ObservedObjects(), Timeline()
    provisioned = training(RayClusterProvisioned=("True", "x"))
    for change in story(*([provisioned, *changes] for changes in GOOD[engine])):
        observed.apply(change)
        for ref in (TRAIN, LLM):
            timeline.record(change.at, ref.name, phase(observed, ref))
    phases = {name: [p for _, p in rows] for name, rows in timeline.changes.items()}
    assert phases["llm"] == [JobPhase.WAITING, JobPhase.RUNNING, *phases["llm"][2:-1], JobPhase.DONE]
    assert phases["train"][-3:] == [JobPhase.RUNNING, JobPhase.PREEMPTED, JobPhase.RUNNING]
