"""The result of a pass: its writes, in the order in which they are sent."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from muster.controller.cluster.relations import QueueKey
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.passes.explanations import Explained
from muster.controller.passes.queue_counts import QueueCounts
from muster.controller.workload.events import ObjectEvent


@dataclass
class PassPlan:
    """`stops` suspend gangs that must not run, and `template_resets` restore the user's templates: no
    reservation depends on them. `before_reservations` release quota, start gangs or prepare; no write of
    `reservations` is sent before the statuses among these, nor before those that it needs
    (PlannedWrite.needs). `wait_reasons` say why pending workloads wait: the numbers change with every
    admission, so these may be written less often. `repeated_events` are about lasting problems that no status
    shows. `wake_at_ms` is when the plan changes by time alone. `preemptors` are the workloads that victims
    are preempted for, both by key. `postponed`: more Workloads are to be created than by this pass.
    `differences` counts Workloads that were not as they had been kept although nothing had marked them:
    always 0, unless a change marks too little. `counts` are of the Workloads as the pass found them;
    `examined` are the keys of those that it examined or that are gone: all others are as they were.
    `changed_queues` are the queues and checks that are not as the last pass found them, in their counts or
    else; None: any may have changed."""

    stops: list[PlannedWrite] = field(default_factory=list)
    before_reservations: list[PlannedWrite] = field(default_factory=list)
    reservations: list[PlannedWrite] = field(default_factory=list)
    template_resets: list[PlannedWrite] = field(default_factory=list)
    wait_reasons: list[PlannedWrite] = field(default_factory=list)
    repeated_events: list[ObjectEvent] = field(default_factory=list)
    wake_at_ms: int | None = None
    postponed: bool = False
    explained: Explained = field(default=Explained(), compare=False)
    preemptors: Mapping[str, str] = field(default_factory=dict)
    differences: int = 0
    counts: QueueCounts = field(default_factory=QueueCounts)
    examined: Collection[str] = field(default=(), compare=False)
    changed_queues: Collection[QueueKey] | None = field(default=None, compare=False)
