"""An engine with Muster's rules decides as a fresh one does, and as one without pruning."""

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from muster.admission import (
    Aging,
    Budget,
    Enforcement,
    Engine,
    FairSharing,
    Plan,
    Rules,
    Snapshot,
    Spent,
    decide,
)
from muster.admission.pruning.try_everything import TryEverything
from tests.unit.admission.builders import GPU, NOW_MS
from tests.unit.admission.engine.lives import Life
from tests.unit.admission.strategies import examples, snapshots

RULES = (
    Rules(immediate_unparking=True),
    Rules(run_time_ms_min=3),
    Rules(aging=Aging(step=1, period_ms=2, boost_max=2)),
    Rules(backfill=True),
    Rules(backfill=True, run_time_ms_min=2, aging=Aging(step=1, period_ms=3, boost_max=3)),
    Rules(fair_sharing=FairSharing()),
    Rules(fair_sharing=FairSharing(), run_time_ms_min=2, prioritize_preemptors=True),
    Rules(),
)
RUN_TIMES_MS = st.sampled_from((None, 1, 2, 4))
BUDGET = st.builds(
    Budget,
    st.just(GPU),
    st.sampled_from((1, 4, 9)),
    st.just(5),
    flavor=st.sampled_from(("", "", "plain")),
    enforcement=st.sampled_from((Enforcement.HARD, Enforcement.SOFT, Enforcement.SOFT)),
)
BUDGETS = st.lists(BUDGET, max_size=2).map(tuple)


class LifeWithRules(Life):
    @initialize(of=snapshots(), rules=st.sampled_from(RULES), data=st.data(), budgets=st.booleans())
    def begin(self, of: Snapshot, rules: Rules, data: st.DataObject, budgets: bool) -> None:
        queues, cohorts = of.cluster_queues, of.cohorts
        spent: dict[str, tuple[Spent, ...]] = {}
        if budgets:
            queues = {name: replace(q, budgets=data.draw(BUDGETS)) for name, q in queues.items()}
            cohorts = {name: replace(c, budgets=data.draw(BUDGETS)) for name, c in cohorts.items()}
            spent = {name: (Spent(GPU, NOW_MS, 1),) for name in queues}
        self.of = replace(of, workloads=(), cluster_queues=queues, cohorts=cohorts, spent=spent)
        self.by = rules
        self.coming = [replace(workload, run_time_ms=data.draw(RUN_TIMES_MS)) for workload in of.workloads]
        self.engine = Engine(self.of, self.by)

    @precondition(lambda self: self.objects)
    @rule(data=st.data(), gpu=st.integers(0, 3), later_ms=st.integers(0, 1))
    def one_gets_a_successor(self, data: st.DataObject, gpu: int, later_ms: int) -> None:
        """A slice of the same job that needs more of it, or less."""
        first = self.objects[data.draw(st.sampled_from(sorted(self.objects)))]
        of = f"{first.key}-{len(self.objects)}"
        if of in self.objects or any(other.replaces == first.key for other in self.objects.values()):
            return
        pod_sets = (replace(first.pod_sets[0], requests={GPU: gpu}), *first.pod_sets[1:])
        successor = replace(first, key=of, uid=of, pod_sets=pod_sets, replaces=first.key, admission=None)
        self.put(
            replace(successor, evicted=False, preempting=False, queued_at_ms=first.queued_at_ms + later_ms)
        )

    def decide_as_a_fresh_engine(self) -> None:
        before = self.snapshot()
        plan = decide(before, self.now_ms, self.by)
        everything = decide(before, self.now_ms, self.by, TryEverything)
        assert changes(plan) == changes(everything)
        super().decide_as_a_fresh_engine()


def changes(plan: Plan) -> tuple[object, ...]:
    """Workloads of one cycle are admitted in the order of their queues, or of their places."""
    return sorted(map(repr, plan.admissions)), plan.preemptions, plan.replaced


TestLifeWithRules = LifeWithRules.TestCase
TestLifeWithRules.settings = settings(
    max_examples=examples(20), stateful_step_count=12, deadline=None, database=None
)
