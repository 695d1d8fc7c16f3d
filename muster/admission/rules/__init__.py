"""Optional rules that Kueue does not have: hooks that the engine is given."""

from muster.admission.rules.budgets import Budgets
from muster.admission.rules.min_runtime import MinRuntime
from muster.admission.state.state import WorkingState


def install(state: WorkingState) -> None:
    """Gives the state the hooks that its rules and queues ask for."""
    queues = state.snapshot.cluster_queues.values()
    least_ms = state.rules.run_time_ms_min
    run_times_ms = {
        queue.name: least_ms if queue.run_time_ms_min is None else queue.run_time_ms_min for queue in queues
    }
    if any(run_times_ms.values()):
        state.min_runtime = MinRuntime(run_times_ms)
    cohorts = state.snapshot.cohorts.values()
    if any(queue.budgets for queue in queues) or any(cohort.budgets for cohort in cohorts):
        state.budgets = Budgets(state.snapshot, state.tree.queues, state.holdings)
