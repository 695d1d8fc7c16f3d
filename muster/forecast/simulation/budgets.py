"""The usage of budgets in a simulation."""

from collections.abc import Mapping, Sequence

from muster import admission as core
from muster.forecast.results.budgets import BudgetOutcome, Held, budget_outcome
from muster.translation import recorded_usage
from muster.translation.recorded_usage import Amounts


class SpentUsage:
    """Records the usage of gangs that release their quota, as the controller does. `budgets` are those of the
    configuration, without which nothing is recorded."""

    def __init__(self, objects: core.Snapshot, budgets: Sequence[core.BudgetUsage]) -> None:
        self._budgets = budgets
        self._times: list[list[Held]] = [[] for _ in budgets]
        self.resources = frozenset(of.budget.resource for of in budgets)
        self._initial = objects.spent
        self._used: dict[str, Amounts] = {}  # by queue
        self._held: dict[int, tuple[core.Admission, int]] = {}  # since when, by job
        self._before: dict[int, Amounts] = {}  # the usage before the last change of its size, by job

    def reserve(self, job: int, admission: core.Admission, now_ms: int) -> None:
        """Counts the usage of an admission from now on."""
        if self.resources:
            self._held[job] = admission, now_ms

    def resize(self, job: int, admission: core.Admission, now_ms: int) -> None:
        """Counts the usage of an elastic gang with its new size."""
        if job in self._held:
            before = self._before.get(job, {}), self._latest(job, now_ms)
            self._before[job] = recorded_usage.merged(before, now_ms // 1000)
            self._held[job] = admission, now_ms

    def release(self, job: int, now_ms: int) -> bool:
        """Records the usage of a job; returns whether that changed the usage."""
        if job not in self._held:
            return False
        latest, before = self._latest(job, now_ms), self._before.pop(job, {})
        queue = self._held.pop(job)[0].cluster_queue
        used = self._used.get(queue, {}), before, latest
        self._used[queue] = recorded_usage.merged(used, now_ms // 1000)
        return bool(before or latest)

    def _latest(self, job: int, now_ms: int) -> Amounts:
        """Returns the usage of a job since the last change of its size."""
        admission, since_ms = self._held[job]
        held = [
            ((flavor, resource), pod_set.usage.get(resource, 0))
            for pod_set in admission.pod_sets
            for resource, flavor in pod_set.flavors.items()
            if resource in self.resources
        ]
        for of, times in zip(self._budgets, self._times, strict=True):
            units = sum(amount for column, amount in held if of.budget.covers(*column))
            if units and admission.cluster_queue in of.queues:
                times.append((since_ms, now_ms, units))
        return recorded_usage.of_interval(held, since_ms // 1000, now_ms // 1000)

    def outcomes(self, end_ms: int) -> list[BudgetOutcome]:
        """Returns the outcome of each budget at the end of the simulation."""
        for job in list(self._held):
            self.release(job, end_ms)
        return [
            budget_outcome(of.owner, of.budget, times, end_ms)
            for of, times in zip(self._budgets, self._times, strict=True)
        ]

    def spent(self) -> Mapping[str, tuple[core.Spent, ...]]:
        """Returns the recorded usage by queue."""
        return {
            queue: (
                *self._initial.get(queue, ()),
                *recorded_usage.as_spent(self._used.get(queue, {})),
            )
            for queue in self._initial.keys() | self._used.keys()
        }
