"""Properties of classical preemption in every cluster. A failure prints a decorator that replays it."""

from random import Random

from hypothesis import event, given, settings
from hypothesis import strategies as st

from muster.admission import PreemptionReason
from muster.admission.preemption.classical import classical_targets
from muster.admission.preemption.ordering import satisfies
from muster.admission.preemption.search import Target, TargetSearch
from tests.unit.admission.preemption.naive import naive_targets
from tests.unit.admission.preemption.scenes import Scene, full_cohorts, scenes
from tests.unit.admission.strategies import PROPERTY, examples

OWN = PreemptionReason.IN_CLUSTER_QUEUE
WHILE_BORROWING = PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING


def searched(scene: Scene) -> tuple[TargetSearch, list[Target]]:
    """Preemption is not tried for a workload that fits."""
    search = scene.search()
    if search.fits():
        return search, []
    before = {name: dict(node.usage) for name, node in search.state.tree.queues.items()}
    targets = classical_targets(search)
    assert {name: node.usage for name, node in search.state.tree.queues.items()} == before
    event(f"victims: {len(targets)}")
    return search, targets


@settings(PROPERTY, max_examples=examples(1000))
@given(st.one_of(scenes(), full_cohorts()))
def test_the_victims_are_those_of_the_long_way(scene: Scene) -> None:
    search, targets = searched(scene)
    if search.fits():
        return
    assert {target.holding.workload.key: target.reason for target in targets} == naive_targets(search)


@PROPERTY
@given(scenes())
def test_the_preemptor_fits_then_and_no_victim_could_stay(scene: Scene) -> None:
    search, targets = searched(scene)
    if not targets:
        return

    def enough(may_borrow: bool) -> bool:
        with search.state.without(target.holding for target in targets):
            return search.fits(may_borrow)

    def needed(target: Target, may_borrow: bool) -> bool:
        with search.state.without(other.holding for other in targets if other is not target):
            return not search.fits(may_borrow)

    assert enough(may_borrow=True)
    assert any(
        enough(may_borrow) and all(needed(target, may_borrow) for target in targets)
        for may_borrow in (True, False)
    )


@PROPERTY
@given(scenes())
def test_no_victim_that_policy_forbids(scene: Scene) -> None:
    search, targets = searched(scene)
    for target in targets:
        victim = target.holding.workload
        assert target.holding.uses(search.contested)
        assert (target.holding.node is search.node) == (target.reason is OWN)
        if target.reason is OWN:
            assert satisfies(search.queue.within_queue, search.workload, victim)
        else:
            assert target.holding.node.root is search.node.root
            assert not target.holding.node.within_nominal(search.contested)
            assert satisfies(search.queue.reclaim_within_cohort, search.workload, victim)
        if target.reason is WHILE_BORROWING:
            terms = search.queue.borrow_within_cohort
            assert terms is not None
            if search.outranks(target.holding):
                continue
            assert victim.priority < search.workload.priority
            assert terms.priority_threshold_max is None or victim.priority <= terms.priority_threshold_max


@PROPERTY
@given(scenes(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(scene: Scene, random: Random) -> None:
    _, targets = searched(scene)
    _, others = searched(scene.shuffled(random))
    assert [(other.holding.workload.key, other.reason) for other in others] == [
        (other.holding.workload.key, other.reason) for other in targets
    ]
