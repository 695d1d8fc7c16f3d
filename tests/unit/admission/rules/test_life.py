"""With rules of ours the engine decides what a fresh one decides, whatever happens."""

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize

from muster.admission import Aging, Budget, Engine, Rules, Snapshot, Spent
from tests.unit.admission.builders import GPU, NOW_MS
from tests.unit.admission.engine.test_incremental import Life
from tests.unit.admission.strategies import examples, snapshots

RULES = (
    Rules(immediate_unparking=True),
    Rules(run_time_ms_min=3),
    Rules(aging=Aging(step=1, period_ms=2, boost_max=2)),
    Rules(backfill=True),
    Rules(backfill=True, run_time_ms_min=2, aging=Aging(step=1, period_ms=3, boost_max=3)),
    Rules(),
)
RUN_TIMES_MS = st.sampled_from((None, 1, 2, 4))
BUDGETS = st.lists(st.builds(Budget, st.just(GPU), st.sampled_from((1, 4, 9)), st.just(5)), max_size=1).map(
    tuple
)


class LifeWithRules(Life):
    @initialize(of=snapshots(), rules=st.sampled_from(RULES), data=st.data(), budgets=st.booleans())
    def begin(self, of: Snapshot, rules: Rules, data: st.DataObject, budgets: bool) -> None:
        queues, cohorts = of.cluster_queues, of.cohorts
        spent: dict[str, tuple[Spent, ...]] = {}
        if budgets and not rules.backfill:
            queues = {name: replace(q, budgets=data.draw(BUDGETS)) for name, q in queues.items()}
            cohorts = {name: replace(c, budgets=data.draw(BUDGETS)) for name, c in cohorts.items()}
            spent = {name: (Spent(GPU, NOW_MS, 1),) for name in queues}
        self.of = replace(of, workloads=(), cluster_queues=queues, cohorts=cohorts, spent=spent)
        self.by = rules
        self.coming = [replace(one, run_time_ms=data.draw(RUN_TIMES_MS)) for one in of.workloads]
        self.engine = Engine(self.of, self.by)


TestLifeWithRules = LifeWithRules.TestCase
TestLifeWithRules.settings = settings(
    max_examples=examples(20), stateful_step_count=12, deadline=None, database=None
)
