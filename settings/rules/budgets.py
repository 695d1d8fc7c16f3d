"""Rules of budgets."""

from collections.abc import Iterator, Sequence

from settings.model.queues.budget import Budget
from settings.model.queues.queue import ClusterQueue, Cohort
from settings.model.stack import Settings
from settings.problems import Finding, Path, did_you_mean
from settings.rules.queues import holders
from settings.rules.registry import rule


def _budgets(settings: Settings) -> Iterator[tuple[Path, Budget]]:
    queues = settings.queues
    owners: tuple[tuple[str, Sequence[Cohort | ClusterQueue]], ...] = (
        ("cohorts", queues.cohorts),
        ("clusterQueues", queues.cluster_queues),
    )
    for section, members in owners:
        for i, owner in enumerate(members):
            for j, budget in enumerate(owner.budgets):
                yield ("muster:queues", section, i, "budgets", j), budget


@rule("admission", "queues")
def budgets_need_engine_muster(settings: Settings) -> Iterator[Finding]:
    """Budgets need engine muster: Kueue and KAI keep no usage over time (Kueue: ClusterQueueSpec)."""
    engine = settings.admission.engine
    if engine == "muster":
        return
    for path, _ in _budgets(settings):
        yield Finding(
            path,
            f"no budget: engine {engine} keeps no usage over time",
            "remove it, or choose engine: muster",
        )


@rule("pools", "queues")
def budgets_suit_flavors(settings: Settings) -> Iterator[Finding]:
    """Budgets are of flavors of pools in the file, and of resources with quota (docs/budgets.md)."""
    flavors = sorted({pool.flavor_name for pool in settings.pools})
    all_quotas = [quotas for holder in holders(settings) for quotas in holder.quotas.values()]
    resources = sorted({resource for quotas in all_quotas for resource in quotas})
    for path, budget in _budgets(settings):
        if budget.flavor is not None and budget.flavor not in flavors:
            yield Finding(
                (*path, "flavor"), "the flavor of a pool in this file", did_you_mean(budget.flavor, flavors)
            )
        if budget.resource not in resources:
            yield Finding(
                (*path, "resource"),
                "a resource with quota in this file",
                did_you_mean(budget.resource, resources),
            )
