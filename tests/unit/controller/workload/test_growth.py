"""Plans for gangs with surplus, summed up for whole gangs."""

import pytest

from muster.admission import (
    Admission,
    Plan,
    PlannedAdmission,
    PodSet,
    PodSetAssignment,
    Preemption,
    PreemptionReason,
    Workload,
)
from muster.controller.workload.growth import of_gangs
from muster.translation.elastic import ElasticPodSet, split

GPU, REASON = "nvidia.com/gpu", PreemptionReason.IN_CLUSTER_QUEUE


def whole(workers: int) -> Workload:
    """A gang with this many workers."""
    assigned = PodSetAssignment("gpu", workers, {GPU: "l4"}, {GPU: workers})
    pod_sets = (PodSet("gpu", workers, {GPU: 1}),)
    return Workload("ns/a", "uid", "q", 0, 0, pod_sets, admission=Admission("q", (assigned,)))


def parts(workers: int = 4, asked: int = 6, running: int = 0) -> tuple[Workload, ...]:
    return split(whole(workers), {"gpu": ElasticPodSet(2, 1, asked, running)})


def replica(number: int) -> str:
    return f"ns/a+gpu+{number}"


def admitted(*numbers: int) -> tuple[PlannedAdmission, ...]:
    one_worker = PodSetAssignment("gpu", 1, {GPU: "l4"}, {GPU: 1})
    return tuple(PlannedAdmission(replica(number), Admission("q", (one_worker,))) for number in numbers)


def preempted(*keys: str, by: str = "ns/b") -> tuple[Preemption, ...]:
    return tuple(Preemption(key, by, REASON) for key in keys)


@pytest.mark.parametrize(
    ("plan", "workers"),
    [
        pytest.param(Plan(admitted(3, 4), (), ()), 6, id="grows"),
        pytest.param(Plan((), preempted(replica(2)), ()), 3, id="surplus is preempted"),
        pytest.param(Plan(admitted(3), preempted(replica(1), replica(2)), ()), 3, id="both"),
        pytest.param(Plan(admitted(3), preempted(replica(3)), ()), 4, id="preempted after its admission"),
    ],
)
def test_a_gang_is_resized(plan: Plan, workers: int) -> None:
    gangs = of_gangs(plan, lambda _: parts())
    assert gangs.plan == Plan((), (), ())
    (resize,) = gangs.resizes.values()
    assert [(a.count, dict(a.usage)) for a in resize.admission.pod_sets] == [(workers, {GPU: workers})]
    assert [p.workload for p in resize.preemptions] == ["ns/a"] * len(plan.preemptions)


def test_pods_that_terminate_do_not_hold_quota_again() -> None:
    plan = Plan(admitted(3), (), ())
    (resize,) = of_gangs(plan, lambda _: parts(workers=3, asked=5, running=4)).resizes.values()
    assert [a.count for a in resize.admission.pod_sets] == [4]


def test_an_evicted_gang_is_not_resized() -> None:
    plan = Plan((), preempted("ns/a", replica(1), replica(2)), ())
    gangs = of_gangs(plan, lambda _: parts())
    assert (gangs.plan.preemptions, gangs.resizes) == (preempted("ns/a"), {})


def test_surplus_that_preempts_is_named_as_its_gang() -> None:
    gangs = of_gangs(Plan((), preempted("ns/b", by=replica(3)), ()), lambda _: parts())
    assert gangs.plan.preemptions == preempted("ns/b", by="ns/a")


def test_a_plan_without_surplus_stays() -> None:
    plan = Plan((PlannedAdmission("ns/b", Admission("q", ())),), preempted("ns/c"), (), ("ns/d",))
    assert of_gangs(plan, lambda _: ()).plan == plan
