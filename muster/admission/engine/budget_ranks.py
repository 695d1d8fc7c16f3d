"""Updates the ranks of workloads when a soft budget is used up, or no longer is."""

from dataclasses import replace

from muster.admission.engine.changes import TrackedWorkloads
from muster.admission.engine.contention import ContentionGroup
from muster.admission.model import Workload
from muster.admission.queueing.pending import PendingQueue
from muster.admission.state.over_budget import UsedUpOfQueues, of_pending
from muster.admission.state.state import WorkingState


def ranked(used_up: UsedUpOfQueues, workload: Workload) -> Workload:
    """Returns a pending workload with its rank by these budgets."""
    over_budget = of_pending(used_up, workload) is not None
    if workload.over_budget is over_budget:
        return workload
    return replace(workload, over_budget=over_budget)


def update_ranks(group: ContentionGroup, workloads: TrackedWorkloads, now_ms: int) -> None:
    """Updates the workloads of queues whose soft budgets changed their state since the last decision."""
    state = group.state
    if state.soft_budgets is None:
        return
    for name, used_up in state.soft_budgets.used_up(group.names, now_ms).items():
        if used_up == state.used_up.get(name, ()):
            continue
        state.version += 1  # ranks decide which workloads may be preempted
        if used_up:
            state.used_up[name] = used_up
        else:
            del state.used_up[name]
        rank_holdings(state, name)
        if name in group.queues:
            _rank_pending(group.queues[name], state.used_up, workloads)
            group.touch(name)


def rank_holdings(state: WorkingState, queue: str) -> None:
    """Updates the ranks of the workloads that hold quota of a queue."""
    holdings = state.holdings[queue]
    for holding in tuple(holdings.values()):
        holdings.set_over_budget(holding, state.is_over_budget(holding))


def _rank_pending(queue: PendingQueue, used_up: UsedUpOfQueues, workloads: TrackedWorkloads) -> None:
    pending = [workload for group in queue.groups for _, workload in group]
    for workload in pending:
        updated = ranked(used_up, workload)
        if updated is not workload:
            tried = workload.key in queue.parked
            # Removed before and put after, as its position in the queue depends on its rank.
            queue.remove(workload)
            queue.put(updated, tried=tried)
            workloads.put(updated)
