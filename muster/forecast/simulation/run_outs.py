"""Finds when budgets are used up in a simulation."""

from collections.abc import Collection, Iterable

from muster import admission as core

BudgetKey = tuple[bool, str, core.Budget]
"""Whether the owner is a cohort, its name, and the budget."""


class BudgetWatch:
    """Watches the budgets of an engine from `now_ms` to the end of their periods; rolling ones to `until_ms`.

    The usage is computed only when a budget may be used up since the last computation, with the whole quota
    of the cluster in use."""

    def __init__(self, engine: core.Engine, now_ms: int, until_ms: int) -> None:
        self._engine = engine
        self.used_up_ms: dict[BudgetKey, int] = {}  # without budgets that are not used up
        self._open: dict[BudgetKey, tuple[int, int]] = {}  # the next time to compute the usage, and the end
        self._units_max: dict[BudgetKey, int] = {}
        for usage in engine.budget_usage(now_ms):
            key = _key(usage)
            self._units_max[key] = _units_max(engine.objects, usage.budget)
            end_ms = until_ms if usage.budget.rolling else min(until_ms, usage.end_ms)
            self._open[key] = now_ms, end_ms
        self.passes(now_ms)

    @property
    def keys(self) -> Collection[BudgetKey]:
        """All budgets."""
        return self._units_max.keys()

    @property
    def is_over(self) -> bool:
        """True once no further budget can be used up."""
        return not self._open

    def passes(self, now_ms: int) -> None:
        """Records the budgets that are used up by this time. Call it before the workloads change."""
        usages: dict[int, dict[BudgetKey, core.BudgetUsage]] = {}
        for key, (next_ms, end_ms) in list(self._open.items()):
            while next_ms <= min(now_ms, end_ms - 1):
                # Before the end of the period, or of the hour of a rolling one: some usage expires then.
                _, expires_ms = key[2].period(next_ms)
                at_ms = min(now_ms, end_ms - 1, expires_ms - 1)
                if at_ms not in usages:
                    usages[at_ms] = {_key(usage): usage for usage in self._engine.budget_usage(at_ms)}
                next_ms = self._next_ms(key, usages[at_ms][key], at_ms, end_ms)
            if next_ms < end_ms and now_ms < end_ms:
                self._open[key] = next_ms, end_ms
            else:
                del self._open[key]

    def _next_ms(self, key: BudgetKey, usage: core.BudgetUsage, at_ms: int, end_ms: int) -> int:
        """Returns when the budget may be used up next; its end if it is used up, which is recorded."""
        remaining, most = usage.limit_unit_ms - usage.used_unit_ms, self._units_max[key]
        if remaining > 0:
            return at_ms + max(1, remaining // most) if most else end_ms
        # The units in use have not changed since the last call, at which the budget was not used up.
        self.used_up_ms[key] = at_ms + (remaining // usage.units if usage.units else 0)
        return end_ms


def _key(usage: core.BudgetUsage) -> BudgetKey:
    return usage.is_cohort, usage.name, usage.budget


def _units_max(objects: core.Snapshot, budget: core.Budget) -> int:
    """Returns the quota of all queues and cohorts that the budget covers."""
    owners: Iterable[core.ClusterQueue | core.Cohort] = (
        *objects.cluster_queues.values(),
        *objects.cohorts.values(),
    )
    return sum(
        quota.nominal
        for owner in owners
        for group in owner.groups
        for flavor in group.flavors
        for resource, quota in flavor.quotas.items()
        if budget.covers(flavor.flavor, resource)
    )
