"""The estimates of each workload's start and, once it has started, their errors. Later estimates learn from
them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from muster.cluster.cluster_state import ClusterState
from muster.forecast.estimate_outcome import EstimateOutcome, SimulatedWait
from muster.forecast.learning.calibration import age_group
from muster.live.eta.start_errors import started_at_ms
from muster.objects.workload_status import is_finished

OUTCOMES_MAX = 20
"""Number of estimates of a workload: one for each group of ages, each time that it waits."""


@dataclass(slots=True)
class _Estimates:
    """The estimates of a workload, by the time of the estimate."""

    waiting: dict[int, SimulatedWait] = field(default_factory=dict)
    outcomes: list[EstimateOutcome] = field(default_factory=list)


class EstimateLog:
    """The first estimate of each workload in each group of ages. A new leader has none of the former."""

    def __init__(self) -> None:
        self._by_uid: dict[str, _Estimates] = {}

    def estimated(self, at_ms: int, simulated: Mapping[str, SimulatedWait]) -> None:
        """Adds estimates, by UID of the Workload."""
        for uid, wait in simulated.items():
            waiting = self._by_uid.setdefault(uid, _Estimates()).waiting
            if age_group(wait.age_ms) not in {age_group(of.age_ms) for of in waiting.values()}:
                waiting[at_ms] = wait

    def passed(self, cluster: ClusterState) -> None:
        """Notes the starts of workloads. Estimates of a workload that ends before it starts are forgotten."""
        for workload in cluster.workloads.values() if self._by_uid else ():
            of = self._by_uid.get(workload.metadata.uid)
            if of is None or not of.waiting:
                continue
            start_ms = started_at_ms(workload)
            if start_ms is not None:
                of.outcomes += _outcomes(of.waiting, start_ms, has_started=True)
                del of.outcomes[:-OUTCOMES_MAX]
            if start_ms is not None or is_finished(workload.status):
                of.waiting.clear()

    def forget_deleted(self, cluster: ClusterState) -> None:
        """Forgets Workloads that no longer exist; observers of passes may still read those deleted in the
        latest pass before this."""
        uids = {workload.metadata.uid for workload in cluster.workloads.values()}
        self._by_uid = {uid: of for uid, of in self._by_uid.items() if uid in uids}

    def of(self, uid: str) -> tuple[EstimateOutcome, ...]:
        """Returns the estimates of a Workload that were followed by a start."""
        estimates = self._by_uid.get(uid)
        return tuple(estimates.outcomes) if estimates is not None else ()

    def outcomes(self, now_ms: int) -> tuple[EstimateOutcome, ...]:
        """Returns all estimates; jobs that still wait have not started until now."""
        return tuple(
            outcome
            for of in self._by_uid.values()
            for outcome in (*of.outcomes, *_outcomes(of.waiting, now_ms, has_started=False))
        )


def _outcomes(
    waiting: Mapping[int, SimulatedWait], until_ms: int, *, has_started: bool
) -> Iterator[EstimateOutcome]:
    for at_ms, simulated in waiting.items():
        yield EstimateOutcome(at_ms, simulated, max(0, until_ms - at_ms), has_started)
