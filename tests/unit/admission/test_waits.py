"""Making the change that a wait message implies lets the workload in."""

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from muster.admission import (
    ClusterQueue,
    Cohort,
    ExclusionCause,
    Flavor,
    FlavorQuotas,
    FungibilityPolicy,
    PodSet,
    Quota,
    Requirement,
    ResourceGroup,
    Shortfall,
    Snapshot,
    Waiting,
    WaitReason,
    Workload,
    decide,
)
from tests.unit.admission.builders import GPU, NOW_MS, applied, taint, tolerate, withdrawn
from tests.unit.admission.strategies import PROPERTY, snapshots

FLAVORS = (
    Flavor("cpu", {"pool": "cpu"}),
    Flavor("l4", {"pool": "l4"}, taints=(taint("gpu"), taint("spot"))),
    Flavor("h100", {"pool": "h100", "zone": "a"}, taints=(taint("gpu"),)),
)
NO_QUOTA = ExclusionCause.NO_QUOTA
AMOUNT = st.sampled_from((0, 0, 1, 2, 3, 5, 8))
LIMIT = st.one_of(st.none(), st.none(), st.integers(0, 3))
QUOTA = st.builds(Quota, AMOUNT, LIMIT, LIMIT)


@st.composite
def groups(draw: st.DrawFn) -> tuple[ResourceGroup, ...]:
    """GPUs and cpu together, as the shipped stacks have them, and sometimes pods apart."""
    names = draw(st.permutations([flavor.name for flavor in FLAVORS]))[: draw(st.integers(1, 3))]
    both = tuple(FlavorQuotas(name, {"cpu": draw(QUOTA), GPU: draw(QUOTA)}) for name in names)
    pods = ResourceGroup(("pods",), (FlavorQuotas("credits", {"pods": draw(QUOTA)}),))
    return (ResourceGroup(("cpu", GPU), both), *((pods,) if draw(st.integers(0, 3)) == 0 else ()))


@st.composite
def pod_sets(draw: st.DrawFn) -> tuple[PodSet, ...]:
    selector = st.sampled_from(({},) * 3 + ({"pool": "l4"}, {"pool": "h100", "zone": "b"}))
    affinity = st.sampled_from(((),) * 3 + (((Requirement("pool", "NotIn", ("cpu",)),),),))
    tolerations = st.sampled_from(((), (tolerate("gpu"),), (tolerate("gpu"), tolerate("spot"))))
    return tuple(
        PodSet(
            name,
            count := draw(st.integers(1, 3)),
            {"cpu": draw(AMOUNT), GPU: draw(AMOUNT)},
            draw(selector),
            affinity=draw(affinity),
            tolerations=draw(tolerations),
            count_min=draw(st.one_of(st.none(), st.none(), st.integers(1, count))),
        )
        for name in ("head", "workers", "more")[: draw(st.integers(1, 3))]
    )


@st.composite
def contended(draw: st.DrawFn) -> Snapshot:
    """Two queues in a tree of cohorts, one of which has been used up, or more: its quota was cut."""
    cohorts = {
        "c0": Cohort("c0", None, draw(st.one_of(st.just(()), groups()))),
        "c1": Cohort("c1", "c0", draw(st.one_of(st.just(()), groups()))),
    }
    queues = {
        name: ClusterQueue(
            name,
            draw(st.sampled_from((*cohorts, None))),
            draw(groups()),
            when_can_borrow=draw(st.sampled_from(FungibilityPolicy)),
        )
        for name in ("q0", "q1")
    }
    workloads = tuple(
        Workload(f"ns/w{index}", f"u{index}", draw(st.sampled_from(("q0", "q1"))), 0, index, draw(pod_sets()))
        for index in range(draw(st.integers(1, 6)))
    )
    before = Snapshot({of.name: of for of in (*FLAVORS, Flavor("credits"))}, cohorts, queues, workloads)
    now = applied(before, decide(before, NOW_MS))
    if draw(st.booleans()):
        cut = ClusterQueue("q0", queues["q0"].cohort, draw(groups()))
        now = replace(now, cluster_queues={**queues, "q0": cut})
    return now


def alone(of: Snapshot, waits: str) -> Snapshot:
    """The snapshot with all workloads that hold quota, and only this pending one."""
    return replace(
        of,
        workloads=tuple(
            workload for workload in of.workloads if workload.admission is not None or workload.key == waits
        ),
    )


def quiet(of: Snapshot) -> Snapshot:
    """Nothing holds quota."""
    return replace(of, workloads=tuple(workload for workload in of.workloads if workload.admission is None))


def with_quota(of: Snapshot, queue: str, shortfalls: Iterable[Shortfall]) -> Snapshot:
    """The snapshot with this much more quota in the queue."""
    missing = {(shortfall.flavor, shortfall.resource): shortfall.missing for shortfall in shortfalls}

    def more(flavor: str, quotas: FlavorQuotas) -> FlavorQuotas:
        raised = {
            resource: replace(quota, nominal=quota.nominal + missing.get((flavor, resource), 0))
            for resource, quota in quotas.quotas.items()
        }
        return FlavorQuotas(flavor, raised)

    old_queue = of.cluster_queues[queue]
    new = tuple(
        ResourceGroup(group.covered, tuple(more(quotas.flavor, quotas) for quotas in group.flavors))
        for group in old_queue.groups
    )
    return replace(of, cluster_queues={**of.cluster_queues, queue: replace(old_queue, groups=new)})


def welcome(of: Snapshot, waiting: Waiting) -> Snapshot:
    """The workload with the tolerations, and without the selectors and affinity, of the explanation."""

    def changed(pod_set: PodSet) -> PodSet:
        exclusions = [exclusion for exclusion in waiting.exclusions if exclusion.pod_set == pod_set.name]
        keys = {
            cause: {exclusion.key for exclusion in exclusions if exclusion.cause is cause}
            for cause in ExclusionCause
        }
        return replace(
            pod_set,
            tolerations=(
                *pod_set.tolerations,
                *(tolerate(key, operator="Exists") for key in sorted(keys[ExclusionCause.TAINT])),
            ),
            node_selector={
                key: value
                for key, value in pod_set.node_selector.items()
                if key not in keys[ExclusionCause.NODE_SELECTOR]
            },
            affinity=() if keys[ExclusionCause.NODE_AFFINITY] else pod_set.affinity,
        )

    return replace(
        of,
        workloads=tuple(
            replace(workload, pod_sets=tuple(map(changed, workload.pod_sets)))
            if workload.key == waiting.workload
            else workload
            for workload in of.workloads
        ),
    )


def is_admitted(of: Snapshot, workload: str) -> bool:
    """Admitted now or after its preemptions, with more pods than its minimum."""
    plan = decide(of, NOW_MS)
    if workload in {preemption.preemptor for preemption in plan.preemptions}:
        plan = decide(withdrawn(applied(of, plan)), NOW_MS)
    return workload in {decision.workload for decision in plan.admissions}


def check(of: Snapshot) -> None:
    """Surplus is left out, as it gets nothing without its gang."""
    pending = [w for w in of.workloads if w.admission is None and not w.surplus_of]
    for holder in pending:
        now = alone(of, holder.key)
        for waiting in decide(now, NOW_MS).waiting:
            match waiting.reason:
                case WaitReason.QUOTA:
                    assert waiting.shortfalls, waiting
                    now = with_quota(now, holder.cluster_queue, waiting.shortfalls)
                case WaitReason.NEVER_FITS:
                    now = with_quota(quiet(now), holder.cluster_queue, waiting.shortfalls)
                case WaitReason.NO_FLAVOR if curable(waiting):
                    now = with_quota(quiet(welcome(now, waiting)), holder.cluster_queue, waiting.shortfalls)
                case _:
                    continue
            assert is_admitted(now, holder.key), waiting
            for lack in waiting.shortfalls:
                assert lack.available_max > 0, f"a flavor without quota is named: {waiting.message}"


def curable(waiting: Waiting) -> bool:
    """Returns whether there is a flavor with quota for all requests of each pod set."""
    without = {
        (exclusion.pod_set, exclusion.flavor)
        for exclusion in waiting.exclusions
        if exclusion.cause is NO_QUOTA
    }
    with_quota = {(exclusion.pod_set, exclusion.flavor) for exclusion in waiting.exclusions} - without
    exclusions = {exclusion.pod_set for exclusion in waiting.exclusions}
    return "has no quota" not in waiting.message and exclusions == {pod_set for pod_set, _ in with_quota}


@PROPERTY
@given(contended())
def test_the_change_that_the_message_implies_lets_it_in(of: Snapshot) -> None:
    check(of)


@PROPERTY
@given(snapshots())
def test_so_it_does_where_others_may_be_preempted(of: Snapshot) -> None:
    check(applied(of, decide(of, NOW_MS)))


def test_flavors_of_an_empty_cluster_do_not_depend_on_current_usage() -> None:
    """Workers prefer cpu while l4 is in use, as they would borrow it; in an empty cluster they prefer l4."""
    gpus = tolerate("gpu"), tolerate("spot")
    quotas = (
        FlavorQuotas("cpu", {"cpu": Quota(0), GPU: Quota(8)}),
        FlavorQuotas("l4", {"cpu": Quota(0), GPU: Quota(3)}),
    )
    lent = ResourceGroup(
        ("cpu", GPU),
        (
            FlavorQuotas("cpu", {"cpu": Quota(1), GPU: Quota(0)}),
            FlavorQuotas("l4", {"cpu": Quota(0), GPU: Quota(2)}),
        ),
    )
    queue = ClusterQueue(
        "q0", "c0", (ResourceGroup(("cpu", GPU), quotas),), when_can_borrow=FungibilityPolicy.TRY_NEXT_FLAVOR
    )
    pod_sets = (
        PodSet("head", 1, {"cpu": 1, GPU: 1}),
        PodSet("workers", 3, {"cpu": 0, GPU: 2}, tolerations=gpus),
        PodSet("more", 1, {"cpu": 0, GPU: 8}, {"pool": "l4"}),
    )
    running = PodSet("head", 1, {"cpu": 0, GPU: 2}, {"pool": "l4"}, tolerations=gpus)
    before = Snapshot(
        {flavor.name: flavor for flavor in FLAVORS},
        {"c0": Cohort("c0", None, (lent,))},
        {"q0": queue},
        (Workload("ns/w0", "u0", "q0", 0, 0, (running,)), Workload("ns/w1", "u1", "q0", 0, 1, pod_sets)),
    )
    check(applied(before, decide(before, NOW_MS)))
