"""Checks of heads next to claimed targets, in comparison with a release of each target."""

from random import Random

from hypothesis import event, given, settings
from hypothesis import strategies as st

from muster.admission.cycle.claimed_targets import ClaimedTargets
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState
from tests.unit.admission.preemption.scenes import Scene, full_cohorts, scenes
from tests.unit.admission.strategies import PROPERTY, examples


def usages(node: QuotaNode) -> list[dict[object, int]]:
    return [{fr: amount for fr, amount in above.usage.items() if amount} for above in node.lineage]


@settings(PROPERTY, max_examples=examples(500))
@given(st.one_of(scenes(), full_cohorts()), st.randoms(use_true_random=False))
def test_claimed_and_own_targets_are_released_for_each_queue(scene: Scene, random: Random) -> None:
    state = WorkingState(scene.of)
    holdings = [holding for queue in state.holdings.values() for holding in queue.values()]
    claimed, targets = ClaimedTargets(state), dict[Holding, None]()
    for holding in random.sample(holdings, random.randint(0, len(holdings))):
        claimed.add(holding)
        targets[holding] = None
    for holding in random.sample(list(targets), len(targets) // 3):
        claimed.discard(holding)
        del targets[holding]
    own = random.sample(holdings, min(2, len(holdings)))
    before = {name: usages(node) for name, node in state.tree.queues.items()}
    for node in state.tree.queues.values():
        event(f"lending limits: {node.root.withholds_quota}, targets: {bool(targets)}")
        with state.without(dict.fromkeys([*targets, *own])):
            expected = usages(node)
        with claimed.released(node, own):
            assert usages(node) == expected
        assert claimed.affects(node) == bool(claimed.affecting(node))
    assert {name: usages(node) for name, node in state.tree.queues.items()} == before
