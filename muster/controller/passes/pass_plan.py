"""The result of a pass: its writes, in the order in which they are sent."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from muster.cluster.queue_counts import QueueCounts
from muster.cluster.relations import QueueKey
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.passes.explanations import Explained
from muster.controller.workload.events import ObjectEvent


@dataclass
class PassPlan:
    """The plan of a pass.

    - `stops` suspend gangs that must not run, and `template_resets` restore the user's templates. No
      reservation depends on them.
    - `before_reservations` release quota, start gangs, or prepare reservations. `reservations` are sent after
      the status writes among them, and after the writes that they need (PlannedWrite.needs).
    - `wait_reasons` update why pending workloads wait. Every admission changes their numbers, so they may be
      written less often.
    - `repeated_events` are about lasting problems that no status shows.
    - `wake_at_ms` is the next time at which the plan changes without a change of objects.
    - `preemptors` maps the keys of victims to those of their preemptors.
    - `postponed`: the next pass has more Workloads to create.
    - `differences` counts Workloads whose examination changed although nothing had marked them; always 0,
      unless marking has a fault.
    - `counts` are those of the Workloads at the beginning of the pass; `examined` are the keys of the
      Workloads that it examined or that no longer exist.
    - `changed_queues` are the queues and checks that changed since the last pass, or whose counts did; None
      if any may have changed.
    """

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
