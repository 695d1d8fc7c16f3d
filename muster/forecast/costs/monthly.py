"""Costs of a month, by queue and flavor, and by group of jobs.

Accelerators on demand cost their price while a gang holds them, from its quota reservation until its quota is
released. The accelerators of a reservation are paid at all times; the share that no gang holds is a cost of
all queues. The demand of the trace is extrapolated to a month: both sides of a plan have the same demand, so
that a longer makespan does not look cheaper.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from muster.forecast.costs.prices import Prices
from muster.forecast.results.outcome import SimulationOutcome
from muster.forecast.results.waits import JobGroup, groups_of

HOUR_MS = 3_600_000
MONTH_HOURS = 730
"""Hours of an average month, as in price lists of clouds."""
UNUSED = "(reserved, not in use)"


@dataclass(frozen=True, slots=True)
class MonthlyCosts:
    """The costs of one future in a month."""

    by_queue: Mapping[tuple[str, str], float]  # by queue, or UNUSED, and flavor
    by_group: Mapping[JobGroup, float]  # of the jobs; of all jobs with UNUSED

    @property
    def total(self) -> float:
        """The cost of all queues and of reservations that are not in use."""
        return self.by_group.get(JobGroup(), 0.0)


def demand_hours(outcomes: Sequence[SimulationOutcome]) -> float:
    """Returns the hours in which the jobs are submitted, at least one."""
    last_ms = max((outcome.jobs[-1].submit_ms for outcome in outcomes if outcome.jobs), default=0)
    return max(1.0, last_ms / HOUR_MS)


def monthly_costs(
    outcome: SimulationOutcome, prices: Prices, reserved: Mapping[str, int], hours: float
) -> MonthlyCosts:
    """Returns the costs of a month with the demand of `hours`. `reserved` has the accelerators of
    reservations by flavor. Flavors without a price cost nothing."""
    by_queue: dict[tuple[str, str], float] = defaultdict(float)
    by_group: dict[JobGroup, float] = defaultdict(float)
    used: dict[str, float] = defaultdict(float)
    for (index, flavor), cost in _by_job(outcome, prices, hours).items():
        job = outcome.jobs[index]
        by_queue[job.queue, flavor] += cost
        used[flavor] += cost
        for group in groups_of(job):
            by_group[group] += cost
    for flavor, accelerators in reserved.items():
        paid = accelerators * MONTH_HOURS * prices.by_flavor.get(flavor, 0.0)
        if paid > used[flavor]:
            by_queue[UNUSED, flavor] = paid - used[flavor]
            by_group[JobGroup()] += paid - used[flavor]
    return MonthlyCosts(by_queue, by_group)


def _by_job(outcome: SimulationOutcome, prices: Prices, hours: float) -> Mapping[tuple[int, str], float]:
    """Returns the costs by job and flavor."""
    costs: dict[tuple[int, str], float] = defaultdict(float)
    columns = outcome.attempts
    rows = zip(columns.job, columns.reserved_ms, columns.ended_ms, columns.flavor, strict=True)
    for job, reserved_ms, ended_ms, flavor in rows:
        price = prices.by_flavor.get(outcome.flavors[flavor])
        if price is not None:
            held = outcome.jobs[job].accelerators * (ended_ms - reserved_ms) / HOUR_MS
            costs[job, outcome.flavors[flavor]] += held * price * MONTH_HOURS / hours
    return costs


def mean_costs(futures: Sequence[MonthlyCosts]) -> MonthlyCosts:
    """Returns the means over the futures."""
    queues = {key for future in futures for key in future.by_queue}
    groups = {group for future in futures for group in future.by_group}
    return MonthlyCosts(
        {key: fmean(future.by_queue.get(key, 0.0) for future in futures) for key in sorted(queues)},
        {group: fmean(future.by_group.get(group, 0.0) for future in futures) for group in groups},
    )
