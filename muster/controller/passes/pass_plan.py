"""The result of a pass: its writes, its explanations, and statistics for observers."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from muster.cluster.queue_counts import QueueCounts
from muster.cluster.relations import QueueKey
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.passes.explanations import Explained
from muster.controller.workload.events import ObjectEvent


@dataclass
class PassWrites:
    """The writes of a pass, in the order in which they are sent."""

    # Suspend gangs that must not run. No reservation depends on them.
    stops: list[PlannedWrite] = field(default_factory=list)
    # Release quota, start gangs, or prepare reservations.
    before_reservations: list[PlannedWrite] = field(default_factory=list)
    # Sent after the status writes among `before_reservations`, and after the writes that they need
    # (PlannedWrite.needs).
    reservations: list[PlannedWrite] = field(default_factory=list)
    # Restore the users' templates in suspended jobs. No reservation depends on them.
    template_resets: list[PlannedWrite] = field(default_factory=list)
    # Update why pending workloads wait. Every admission changes their numbers, so they may be written less
    # often.
    wait_reasons: list[PlannedWrite] = field(default_factory=list)
    # About lasting problems that no status shows.
    repeated_events: list[ObjectEvent] = field(default_factory=list)


@dataclass
class PassStatistics:
    """Figures of a pass for metrics, the journal, and the statuses of queues."""

    # The counts of the Workloads at the beginning of the pass.
    counts: QueueCounts = field(default_factory=QueueCounts)
    # The keys of the Workloads that the pass examined, and of Workloads that no longer exist.
    examined: Collection[str] = field(default=(), compare=False)
    # The queues and checks that changed since the last pass, or whose counts did; None if any may have.
    changed_queues: Collection[QueueKey] | None = field(default=None, compare=False)
    # The keys of preempted Workloads, each with the key of its preemptor.
    preemptors: Mapping[str, str] = field(default_factory=dict)
    # The number of Workloads whose examination changed although nothing had marked them; always 0, unless
    # marking has a fault.
    differences: int = 0


@dataclass
class PassPlan:
    """The plan of a pass."""

    writes: PassWrites = field(default_factory=PassWrites)
    explained: Explained = field(default=Explained(), compare=False)
    statistics: PassStatistics = field(default_factory=PassStatistics)
    # The next time at which the plan changes without a change of objects.
    wake_at_ms: int | None = None
    # More Workloads remain to be created by the next pass.
    postponed: bool = False
