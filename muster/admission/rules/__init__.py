"""Optional rules that Kueue does not have: hooks that the engine is given."""

from muster.admission.rules.budgets import budgets
from muster.admission.rules.min_runtime import min_runtime
from muster.admission.state.state import WorkingState


def install(state: WorkingState) -> None:
    """Gives the state the hooks that its rules and queues ask for."""
    state.min_runtime = min_runtime(state.snapshot.cluster_queues, state.rules)
    state.budgets = budgets(state.snapshot, state.tree.queues, state.holdings)
