"""Random small clusters for the properties: bounded trees, few flavors, tight quotas."""

from dataclasses import replace
from fractions import Fraction

from hypothesis import settings
from hypothesis import strategies as st

from muster.admission import (
    ClusterQueue,
    Cohort,
    Flavor,
    FlavorQuotas,
    FungibilityPolicy,
    PodSet,
    PreemptionPolicy,
    QueueingStrategy,
    Quota,
    ResourceGroup,
    Snapshot,
    StopPolicy,
    Workload,
)
from tests.unit.admission.builders import GPU, NOW_MS, taint, tolerate


def examples(number: int) -> int:
    """Returns how many examples a property tries: `number`, or fewer as far as the profile of Hypothesis has
    fewer than its default of 100."""
    return max(1, number * settings().max_examples // 100)


# A failure prints the decorator that replays it: @reproduce_failure(...).
PROPERTY = settings(max_examples=examples(200), deadline=None, print_blob=True, database=None)

_FLAVORS = (
    Flavor("plain", {"pool": "plain"}),
    Flavor("spot", {"pool": "spot"}, taints=(taint("spot"),)),
)
_WITHIN_QUEUE = st.sampled_from(
    (
        PreemptionPolicy.LOWER_PRIORITY,
        PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY,
        PreemptionPolicy.NEVER,
    )
)
_WITHIN_COHORT = st.sampled_from(
    (PreemptionPolicy.ANY, PreemptionPolicy.LOWER_PRIORITY, PreemptionPolicy.NEVER)
)
_LIMIT = st.one_of(st.none(), st.none(), st.integers(0, 3))
_QUOTA = st.builds(Quota, st.sampled_from((4, 3, 6, 2, 5, 0)), _LIMIT, _LIMIT)
_COUNT = st.sampled_from((1, 1, 2, 0))
_GPUS = st.sampled_from((2, 1, 3, 0))
_WEIGHT = st.sampled_from((Fraction(1),) * 4 + (Fraction(2), Fraction(1, 3), Fraction(0)))
_COHORTS = ("c0", "c1", "c2")


@st.composite
def groups(draw: st.DrawFn) -> tuple[ResourceGroup, ...]:
    """GPUs of one or two flavors, and the pods counted on one of them."""
    names = draw(st.sampled_from((("plain",), ("spot", "plain"), ("plain", "spot"))))
    gpus = ResourceGroup((GPU,), tuple(FlavorQuotas(name, {GPU: draw(_QUOTA)}) for name in names))
    if draw(st.integers(0, 3)):
        return (gpus,)
    return gpus, ResourceGroup(("pods",), (FlavorQuotas("plain", {"pods": draw(_QUOTA)}),))


@st.composite
def cohorts(draw: st.DrawFn) -> dict[str, Cohort]:
    """A forest: a parent comes earlier in the list than its children."""
    cohorts_by_name = {}
    for index, name in enumerate(_COHORTS):
        parent = draw(st.sampled_from((*_COHORTS[:index], None)))
        cohorts_by_name[name] = Cohort(name, parent, draw(st.one_of(st.just(()), groups())), draw(_WEIGHT))
    return cohorts_by_name


@st.composite
def cluster_queues(draw: st.DrawFn) -> dict[str, ClusterQueue]:
    cohorts_by_name = {}
    for name in ("q0", "q1", "q2")[: draw(st.integers(1, 3))]:
        cohorts_by_name[name] = ClusterQueue(
            name,
            cohort=draw(st.sampled_from((*_COHORTS, None))),
            groups=draw(groups()),
            strategy=draw(st.sampled_from(QueueingStrategy)),
            stop=draw(st.sampled_from((StopPolicy.NONE,) * 8 + tuple(StopPolicy))),
            within_queue=draw(_WITHIN_QUEUE),
            reclaim_within_cohort=draw(_WITHIN_COHORT),
            when_can_borrow=draw(st.sampled_from(FungibilityPolicy)),
            when_can_preempt=draw(st.sampled_from(FungibilityPolicy)),
            weight=draw(_WEIGHT),
        )
    return cohorts_by_name


@st.composite
def pod_sets(draw: st.DrawFn) -> tuple[PodSet, ...]:
    selector = draw(st.sampled_from(({},) * 6 + ({"pool": "plain"}, {"pool": "spot"})))
    tolerations = draw(st.sampled_from(((tolerate("spot"),), (tolerate("spot"),), ())))
    names = ("workers", "head")[: draw(st.sampled_from((1, 1, 2)))]
    if draw(st.integers(0, 5)) == 5:  # partial admission: of three pods one or two may do
        enough = draw(st.integers(1, 2))
        return (PodSet(names[0], 3, {GPU: 1}, selector, tolerations=tolerations, count_min=enough),)
    return tuple(
        PodSet(name, draw(_COUNT), {GPU: draw(_GPUS)}, selector, tolerations=tolerations) for name in names
    )


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Nothing is admitted yet; UIDs, like keys, differ. In one of four snapshots some gangs are elastic."""
    queues = draw(cluster_queues())
    workloads = [
        Workload(
            key=f"ns/w{index}",
            uid=f"u{index}",
            cluster_queue=draw(st.sampled_from((*queues, "missing") if index == 0 else tuple(queues))),
            priority=index // 3 + draw(st.integers(-1, 1)),  # late ones are often more urgent
            queued_at_ms=draw(st.integers(0, 3)),
            pod_sets=draw(pod_sets()),
            requeue_at_ms=draw(st.sampled_from((None,) * 8 + (NOW_MS + 1, NOW_MS + 2))),
        )
        for index in range(draw(st.integers(6, 12)))
    ]
    if draw(st.integers(0, 3)) == 3:
        workloads += draw(surplus(workloads[:4]))
    return Snapshot({flavor.name: flavor for flavor in _FLAVORS}, draw(cohorts()), queues, tuple(workloads))


@st.composite
def surplus(draw: st.DrawFn, gangs: list[Workload]) -> list[Workload]:
    """Up to three replicas above the minimum of each gang, each with the priority and age of its gang."""
    return [
        replace(
            gang,
            key=f"{gang.key}+{number}",
            uid=f"{gang.uid}+{number}",
            pod_sets=(PodSet("workers", 1, {GPU: draw(st.sampled_from((1, 1, 2)))}),),
            requeue_at_ms=None,
            surplus_of=gang.key,
        )
        for gang in gangs
        for number in range(draw(st.integers(0, 3)))
    ]


@st.composite
def crowds(draw: st.DrawFn) -> Snapshot:
    """Many queues of one tree with one flavor, and more in each than there is room for."""
    cohorts = {"c0": Cohort("c0"), "c1": Cohort("c1", "c0")}
    names = [f"q{index}" for index in range(draw(st.integers(3, 5)))]
    reclaim = draw(st.sampled_from(((PreemptionPolicy.ANY,), tuple(PreemptionPolicy))))
    queues = {
        name: ClusterQueue(
            name,
            cohort=draw(st.sampled_from(("c0", "c0", "c1"))),
            groups=(ResourceGroup((GPU,), (FlavorQuotas("plain", {GPU: draw(_QUOTA)}),)),),
            strategy=draw(st.sampled_from(QueueingStrategy)),
            within_queue=draw(_WITHIN_QUEUE),
            reclaim_within_cohort=draw(st.sampled_from(reclaim)),
        )
        for name in names
    }
    workloads = tuple(
        Workload(
            key=f"ns/w{index:02}",
            uid=f"u{index:02}",
            cluster_queue=draw(st.sampled_from(names)),
            priority=draw(st.integers(0, 2)),
            queued_at_ms=draw(st.integers(0, 3)),
            pod_sets=(PodSet("workers", 1, {GPU: draw(st.integers(1, 5))}),),
        )
        for index in range(draw(st.integers(8, 24)))
    )
    return Snapshot({"plain": _FLAVORS[0]}, cohorts, queues, workloads)
