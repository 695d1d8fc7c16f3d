"""Single cycles in few words."""

from collections.abc import Mapping, Sequence

from muster.admission import Rules, Snapshot, Workload
from muster.admission.cycle.cycle import Cycle
from muster.admission.cycle.entry import Entry, EntryOutcome
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import NOW_MS

RULES = Rules()


def heads(state: WorkingState, workloads: Sequence[Workload]) -> list[Entry]:
    """One head a queue; a head that waits for its victims is a preemptor."""
    return [
        Entry(
            workload,
            state.queue(workload.cluster_queue),
            state.tree.queues[workload.cluster_queue],
            workload.preempting,
        )
        for workload in workloads
    ]


def cycle(of: Snapshot, rules: Rules = RULES) -> dict[str, Entry]:
    """One over all pending workloads of the snapshot, by name."""
    state = WorkingState(of, rules)
    entries = heads(state, [workload for workload in of.workloads if workload.admission is None])
    Cycle(state, 1, NOW_MS).run(entries)
    return {entry.workload.uid: entry for entry in entries}


def outcomes(entries: Mapping[str, Entry]) -> dict[str, EntryOutcome]:
    return {name: entry.outcome for name, entry in entries.items()}


def targets(entry: Entry) -> list[str]:
    return [target.holding.workload.uid for target in entry.targets]
