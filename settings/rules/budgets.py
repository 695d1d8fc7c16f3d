"""Rules of budgets."""

from collections.abc import Iterator, Sequence

from settings.model.base import amount
from settings.model.pools.allocatable import GIB
from settings.model.queues.budget import DAYS_MAX, Budget
from settings.model.queues.queue import ClusterQueue, Cohort
from settings.model.stack import Settings
from settings.problems import Doubt, Finding, Path, did_you_mean
from settings.rules.quantities import BYTES
from settings.rules.queues import cohorts_above, counted_resources
from settings.rules.registry import doubt, rule

# Days of a calendar period, at the most.
DAYS = {"day": 1, "week": 7, "month": DAYS_MAX}


def _owners(settings: Settings) -> Iterator[tuple[Path, Cohort | ClusterQueue]]:
    queues = settings.queues
    owners: tuple[tuple[str, Sequence[Cohort | ClusterQueue]], ...] = (
        ("cohorts", queues.cohorts),
        ("clusterQueues", queues.cluster_queues),
    )
    for section, members in owners:
        for i, owner in enumerate(members):
            yield ("muster:queues", section, i, "budgets"), owner


def _budgets(settings: Settings) -> Iterator[tuple[Path, Budget]]:
    for path, owner in _owners(settings):
        for j, budget in enumerate(owner.budgets):
            yield (*path, j), budget


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
    resources = sorted(counted_resources(settings))
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


@rule("pools", "queues")
def budgets_of_a_queue_are_of_its_quotas(settings: Settings) -> Iterator[Finding]:
    """A budget of a cluster queue is of resources and flavors in its quotas: its gangs use no others (Kueue:
    ClusterQueueSpec.resourceGroups)."""
    all_resources = counted_resources(settings)
    flavors = {pool.flavor_name for pool in settings.pools}
    for i, queue in enumerate(settings.queues.cluster_queues):
        resources = {resource for quotas in queue.quotas.values() for resource in quotas}
        for j, budget in enumerate(queue.budgets):
            path: Path = ("muster:queues", "clusterQueues", i, "budgets", j)
            if budget.resource in all_resources - resources:
                yield Finding(
                    (*path, "resource"),
                    f"a resource in the quotas of queue {queue.name}: {', '.join(sorted(resources))}",
                    "choose one of them, or remove the budget",
                )
            elif budget.flavor in flavors and budget.resource not in queue.quotas.get(budget.flavor, {}):
                having = [name for name, quotas in queue.quotas.items() if budget.resource in quotas]
                yield Finding(
                    (*path, "flavor"),
                    f"a flavor in which queue {queue.name} has quota of {budget.resource}: "
                    f"{', '.join(having)}",
                    "choose one of them, or remove `flavor`",
                )


@rule("queues")
def budgets_of_a_period_are_unique(settings: Settings) -> Iterator[Finding]:
    """A queue or cohort has one budget of a resource and flavor in a period: of two with the same
    enforcement, the larger would have no effect (docs/budgets.md)."""
    for path, owner in _owners(settings):
        taken = set[tuple[object, ...]]()
        for j, budget in enumerate(owner.budgets):
            key = (budget.resource, budget.flavor, budget.period, budget.days, budget.enforcement)
            if key in taken and budget not in owner.budgets[:j]:
                yield Finding(
                    (*path, j),
                    f"one budget of {budget.resource} for this period, flavor and enforcement",
                    "remove the larger one, or write another `period`, `flavor` or `enforcement`",
                )
            taken.add(key)


@rule("queues")
def budgets_of_memory_are_in_bytes(settings: Settings) -> Iterator[Finding]:
    """Memory and storage are counted in bytes, so a budget of them has at least the hours of 1 GiB
    (docs/budgets.md)."""
    for path, budget in _budgets(settings):
        if budget.resource in BYTES and 0 < budget.hours < GIB:
            yield Finding(
                (*path, "hours"),
                f"hours of bytes: {budget.hours} hours of 1 GiB are {budget.hours * GIB}",
                "write that, or choose another resource",
            )


@doubt("pools", "queues")
def budgets_may_be_out_of_reach(settings: Settings) -> Iterator[Doubt]:
    """A budget of more hours than all devices of the stack have in its period is never used up
    (docs/budgets.md)."""
    for path, budget in _budgets(settings):
        pools = [pool for pool in settings.pools if budget.flavor in (None, pool.flavor_name)]
        devices = sum(
            pool.nodes_max * amount(pool.capacity[budget.resource])
            for pool in pools
            if budget.resource in pool.capacity
        )
        most = devices * 24 * (budget.days or DAYS[budget.period])
        if most and budget.hours > most:
            yield Doubt(
                (*path, "hours"),
                f"the {float(devices):g} {budget.resource} of the stack's pools have only {float(most):g} "
                "hours in this period, so the budget is never used up",
                "docs/budgets.md",
            )


@doubt("queues")
def budgets_may_be_covered(settings: Settings) -> Iterator[Doubt]:
    """A budget has no effect if a hard one that counts the same hours, of the queue or of a cohort above it,
    allows no more in at least the same time: that one is used up first (docs/budgets.md)."""
    owners = {owner.name: owner for _, owner in _owners(settings) if isinstance(owner, Cohort)}
    for path, owner in _owners(settings):
        parent = owner.parent if isinstance(owner, Cohort) else owner.cohort
        above = [owner, *(owners[name] for name in cohorts_above(settings, parent) if name in owners)]
        for j, budget in enumerate(owner.budgets):
            for holder in above:
                covering = [b for b in holder.budgets if b is not budget and _covers(b, budget)]
                if covering:
                    yield Doubt(
                        (*path, j, "hours"),
                        f"it has no effect, as the budget of {covering[0].hours} hours a "
                        f"{covering[0].period} of {holder.name} is used up before",
                        "docs/budgets.md",
                    )
                    break


def _covers(wide: Budget, narrow: Budget) -> bool:
    """Returns whether the wide budget, if it is hard, is used up no later than the narrow one."""
    calendar = {"day", "week", "month"}
    longer = wide.period == narrow.period and wide.days == narrow.days
    if {wide.period, narrow.period} <= calendar:
        longer = DAYS[wide.period] >= DAYS[narrow.period]
    return (
        wide.enforcement == "hard"
        and wide.resource == narrow.resource
        and wide.flavor in (None, narrow.flavor)
        and longer
        and not wide.carry_over
        and (wide.hours, wide.flavor or "") <= (narrow.hours, narrow.flavor or "")
    )
