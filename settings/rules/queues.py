"""Rules of queues: their names, their tree, and their quotas."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from settings.model.base import amount
from settings.model.pools.gpus import GPU_RESOURCE
from settings.model.pools.pool import Pool
from settings.model.queues.queue import ClusterQueue
from settings.model.queues.resource_groups import Quotas
from settings.model.stack import Settings
from settings.problems import Finding, Path, did_you_mean
from settings.rules.names import unique
from settings.rules.registry import rule


@rule("queues", "tenants")
def queue_names_are_unique(settings: Settings) -> Iterator[Finding]:
    """Cohorts, cluster queues and namespaces each have unique names (Kubernetes, object names)."""
    queues = settings.queues
    cohorts = ((("muster:queues", "cohorts", i, "name"), c.name) for i, c in enumerate(queues.cohorts))
    yield from unique(cohorts, "cohort name")
    cluster_queues = (
        (("muster:queues", "clusterQueues", i, "name"), q.name) for i, q in enumerate(queues.cluster_queues)
    )
    yield from unique(cluster_queues, "cluster queue name")
    tenants = ((("muster:tenants", i, "namespace"), t.namespace) for i, t in enumerate(settings.tenants))
    yield from unique(tenants, "namespace")


@rule("queues")
def cohorts_form_trees(settings: Settings) -> Iterator[Finding]:
    """A cohort has a parent in the file, and cohorts form trees (Kueue: Cohort.spec.parentName)."""
    reported: set[str] = set()
    parents = {cohort.name: cohort.parent for cohort in settings.queues.cohorts}
    for i, cohort in enumerate(settings.queues.cohorts):
        path: Path = ("muster:queues", "cohorts", i, "parent")
        if cohort.parent is not None and cohort.parent not in parents:
            yield Finding(path, "the name of a cohort in this file", did_you_mean(cohort.parent, parents))
            continue
        chain = cohorts_above(settings, cohort.name)
        if parents.get(chain[-1]) == cohort.name and cohort.name not in reported:
            reported.update(chain)
            yield Finding(
                path,
                f"a tree; this is a cycle: {' -> '.join([*chain, cohort.name])}",
                "remove `parent` from one of them",
            )


@rule("queues")
def cluster_queues_name_cohorts(settings: Settings) -> Iterator[Finding]:
    """The cohort of a cluster queue is in the file: a misspelt one would be a separate cohort (Kueue:
    ClusterQueueSpec.cohortName)."""
    cohorts = [cohort.name for cohort in settings.queues.cohorts]
    for i, queue in enumerate(settings.queues.cluster_queues):
        if queue.cohort is not None and queue.cohort not in cohorts:
            yield Finding(
                ("muster:queues", "clusterQueues", i, "cohort"),
                "the name of a cohort in this file",
                did_you_mean(queue.cohort, cohorts),
            )


class Holder(NamedTuple):
    """A cluster queue or cohort with quotas: its path, kind, quotas, and the cohort above it with its key."""

    path: Path
    kind: str
    quotas: Quotas
    parent_key: str
    parent: str | None


def holders(settings: Settings) -> Iterator[Holder]:
    """Yields all cluster queues and cohorts, with or without quotas."""
    for i, queue in enumerate(settings.queues.cluster_queues):
        path: Path = ("muster:queues", "clusterQueues", i, "quotas")
        yield Holder(path, "queue", queue.quotas, "cohort", queue.cohort)
    for i, cohort in enumerate(settings.queues.cohorts):
        path = ("muster:queues", "cohorts", i, "quotas")
        yield Holder(path, "cohort", cohort.quotas, "parent", cohort.parent)


def cohorts_above(settings: Settings, parent: str | None) -> list[str]:
    """Returns the cohort `parent` and those above it, the root last. A cycle, which another rule refuses, is
    followed once."""
    parents = {cohort.name: cohort.parent for cohort in settings.queues.cohorts}
    above: list[str] = []
    while parent is not None and parent not in above:
        above.append(parent)
        parent = parents.get(parent)
    return above


def counted_resources(settings: Settings) -> set[str]:
    """Returns the resources with quota in a cluster queue or cohort."""
    return {name for holder in holders(settings) for quotas in holder.quotas.values() for name in quotas}


@rule("admission", "pools", "queues")
def quotas_suit_flavors(settings: Settings) -> Iterator[Finding]:
    """Quotas are of flavors of pools in the file, and of resources that their nodes have or that pods claim
    (Kueue: ClusterQueueSpec.resourceGroups, resources.deviceClassMappings)."""
    pools = {pool.flavor_name: pool for pool in settings.pools}
    offered = {resource for pool in settings.pools for resource in pool.capacity}
    # Which nodes have devices that are only claimed is known to their driver, not to the file.
    claimed = [m.name for m in settings.admission.device_classes if m.name not in offered]
    for holder in holders(settings):
        for flavor, quotas in holder.quotas.items():
            if flavor not in pools:
                yield Finding(
                    (*holder.path, flavor), "the flavor of a pool in this file", did_you_mean(flavor, pools)
                )
                continue
            for resource, quota in quotas.items():
                path = (*holder.path, flavor, resource)
                yield from _resource_suits(pools[flavor], claimed, resource, quota.nominal, path)


def _resource_suits(
    pool: Pool, claimed: Sequence[str], resource: str, nominal: str, path: Path
) -> Iterator[Finding]:
    resources = [*pool.capacity, "ephemeral-storage", *claimed]
    if resource not in resources and amount(nominal) > 0:
        no_gpu = f"remove it, or give pool {pool.name} a `gpu`"
        yield Finding(
            path,
            f"a resource that nodes of pool {pool.name} have: {', '.join(resources)}",
            no_gpu if resource == GPU_RESOURCE else did_you_mean(resource, resources),
        )


@rule("pools", "queues")
def quotas_include_accelerators(settings: Settings) -> Iterator[Finding]:
    """A queue with quota in a flavor of GPUs or TPUs has quota of these too: without it no gang that requests
    them is admitted (Kueue: ClusterQueueSpec.resourceGroups)."""
    for path, queue, pool in flavors_of_queues(settings):
        for resource in (resource for resource in pool.capacity if "/" in resource):
            if resource not in queue.quotas[pool.flavor_name]:
                yield Finding(
                    (*path, resource),
                    f"a quota of the accelerators of pool {pool.name}, as its nodes are not used without it "
                    "(Kueue: resourceGroups)",
                    f"add `{resource}`, or remove the flavor from this queue",
                )


def flavors_of_queues(settings: Settings) -> Iterator[tuple[Path, ClusterQueue, Pool]]:
    """Yields each flavor of each cluster queue with its pool; unknown ones are refused elsewhere."""
    pools = {pool.flavor_name: pool for pool in settings.pools}
    for i, queue in enumerate(settings.queues.cluster_queues):
        for flavor in queue.quotas:
            if flavor in pools:
                yield ("muster:queues", "clusterQueues", i, "quotas", flavor), queue, pools[flavor]


@rule("queues")
def limits_suit_quotas(settings: Settings) -> Iterator[Finding]:
    """Borrowing and lending limits require a cohort or parent (Kueue, pkg/webhooks: clusterqueue_webhook.go,
    cohort_webhook.go)."""
    for holder in holders(settings):
        for flavor, quotas in holder.quotas.items():
            for resource, quota in quotas.items():
                path = (*holder.path, flavor, resource)
                limits = {"borrowingLimit": quota.borrowing_limit, "lendingLimit": quota.lending_limit}
                for key, limit in limits.items():
                    if limit is not None and not holder.parent:
                        yield Finding(
                            (*path, key),
                            f"no limit: a {holder.kind} without a {holder.parent_key} neither borrows nor "
                            "lends (Kueue)",
                            f"remove `{key}`, or give the {holder.kind} a `{holder.parent_key}`",
                        )


@rule("queues")
def lending_stays_within_quotas(settings: Settings) -> Iterator[Finding]:
    """A cluster queue lends at most its nominal quota; a cohort also lends the quota of its queues (Kueue,
    pkg/webhooks/clusterqueue_webhook.go)."""
    for i, queue in enumerate(settings.queues.cluster_queues):
        for flavor, quotas in queue.quotas.items():
            for resource, quota in quotas.items():
                if quota.lending_limit and amount(quota.lending_limit) > amount(quota.nominal):
                    yield Finding(
                        ("muster:queues", "clusterQueues", i, "quotas", flavor, resource, "lendingLimit"),
                        f"at most the nominal quota, which is {quota.nominal} (Kueue)",
                        "lower `lendingLimit` or raise `nominal`",
                    )
