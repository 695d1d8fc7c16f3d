"""The usage of budgets in a simulation."""

from collections.abc import Mapping

from muster import admission as core
from muster.translation import recorded_usage
from muster.translation.recorded_usage import Amounts


class SpentUsage:
    """Records the usage of gangs that release their quota, as the controller does. `resources` are those of
    the budgets; without budgets nothing is recorded."""

    def __init__(self, objects: core.Snapshot) -> None:
        budgets = [budget for queue in objects.cluster_queues.values() for budget in queue.budgets]
        budgets += (budget for cohort in objects.cohorts.values() for budget in cohort.budgets)
        self.resources = frozenset(budget.resource for budget in budgets)
        self._initial = objects.spent
        self._used: dict[str, Amounts] = {}  # by queue
        self._held: dict[int, tuple[core.Admission, int]] = {}  # since when, by job

    def reserve(self, job: int, admission: core.Admission, now_ms: int) -> None:
        """Counts the usage of an admission from now on."""
        if self.resources:
            self._held[job] = admission, now_ms

    def release(self, job: int, now_ms: int) -> bool:
        """Records the usage of a job; returns whether that changed the usage."""
        if job not in self._held:
            return False
        admission, since_ms = self._held.pop(job)
        held = [
            ((flavor, resource), pod_set.usage.get(resource, 0))
            for pod_set in admission.pod_sets
            for resource, flavor in pod_set.flavors.items()
            if resource in self.resources
        ]
        queue, now_s = admission.cluster_queue, now_ms // 1000
        latest = recorded_usage.of_interval(held, since_ms // 1000, now_s)
        self._used[queue] = recorded_usage.merged((self._used.get(queue, {}), latest), now_s)
        return bool(latest)

    def spent(self) -> Mapping[str, tuple[core.Spent, ...]]:
        """Returns the recorded usage by queue."""
        return {
            queue: (
                *self._initial.get(queue, ()),
                *recorded_usage.as_spent(self._used.get(queue, {})),
            )
            for queue in self._initial.keys() | self._used.keys()
        }
