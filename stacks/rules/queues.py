"""Rules of queues: their tree, their quotas, and who they serve."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stacks.model import amount
from stacks.pools import GPU_RESOURCE, Pool
from stacks.problems import Finding, Path, did_you_mean
from stacks.rules.names import unique

if TYPE_CHECKING:
    from stacks.settings import Settings

OWN_NAMESPACES = ("default", "kueue-system", "muster-system")
OWN_PREFIXES = ("kube-", "gke-", "gmp-")


def queue_names_are_unique(settings: "Settings") -> Iterator[Finding]:
    queues = settings.queues
    cohorts = ((("muster:queues", "cohorts", i, "name"), c.name) for i, c in enumerate(queues.cohorts))
    yield from unique(cohorts, "cohort name")
    cluster_queues = (
        (("muster:queues", "clusterQueues", i, "name"), q.name) for i, q in enumerate(queues.cluster_queues)
    )
    yield from unique(cluster_queues, "cluster queue name")
    tenants = ((("muster:tenants", i, "namespace"), t.namespace) for i, t in enumerate(settings.tenants))
    yield from unique(tenants, "namespace")


def cohorts_form_trees(settings: "Settings") -> Iterator[Finding]:
    told: set[str] = set()
    parents = {cohort.name: cohort.parent for cohort in settings.queues.cohorts}
    for i, cohort in enumerate(settings.queues.cohorts):
        path: Path = ("muster:queues", "cohorts", i, "parent")
        if cohort.parent is not None and cohort.parent not in parents:
            yield Finding(path, "the name of a cohort in this file", did_you_mean(cohort.parent, parents))
            continue
        chain, above = [cohort.name], cohort.parent
        while above is not None and above not in chain:
            chain.append(above)
            above = parents.get(above)
        if above == cohort.name and above not in told:
            told.update(chain)
            yield Finding(
                path,
                f"a tree; this goes round: {' -> '.join([*chain, above])}",
                "remove `parent` from one of them",
            )


def cluster_queues_name_cohorts(settings: "Settings") -> Iterator[Finding]:
    cohorts = [cohort.name for cohort in settings.queues.cohorts]
    for i, queue in enumerate(settings.queues.cluster_queues):
        if queue.cohort is not None and queue.cohort not in cohorts:
            yield Finding(
                ("muster:queues", "clusterQueues", i, "cohort"),
                "the name of a cohort in this file",
                did_you_mean(queue.cohort, cohorts),
            )


def quotas_suit_flavors(settings: "Settings") -> Iterator[Finding]:
    """Every pool yields a flavor, so a quota can't be given for nodes that nobody makes."""
    pools = {pool.flavor_name: pool for pool in settings.pools}
    for i, queue in enumerate(settings.queues.cluster_queues):
        for flavor, quotas in queue.quotas.items():
            path: Path = ("muster:queues", "clusterQueues", i, "quotas", flavor)
            if flavor not in pools:
                yield Finding(path, "the flavor of a pool in this file", did_you_mean(flavor, pools))
                continue
            for resource, quota in quotas.items():
                yield from _resource_suits(pools[flavor], resource, quota.nominal, (*path, resource))


def _resource_suits(pool: Pool, resource: str, nominal: str, path: Path) -> Iterator[Finding]:
    known = [*pool.capacity, "ephemeral-storage"]
    if resource not in known and amount(nominal) > 0:
        no_gpu = f"remove it, or give pool {pool.name} a `gpu`"
        yield Finding(
            path,
            f"a resource that nodes of pool {pool.name} have: {', '.join(known)}",
            no_gpu if resource == GPU_RESOURCE else did_you_mean(resource, known),
        )


def limits_suit_quotas(settings: "Settings") -> Iterator[Finding]:
    """Kueue refuses both otherwise (pkg/webhooks/clusterqueue_webhook.go)."""
    for i, queue in enumerate(settings.queues.cluster_queues):
        for flavor, quotas in queue.quotas.items():
            for resource, quota in quotas.items():
                path: Path = ("muster:queues", "clusterQueues", i, "quotas", flavor, resource)
                limits = {"borrowingLimit": quota.borrowing_limit, "lendingLimit": quota.lending_limit}
                for key, limit in limits.items():
                    if limit is not None and not queue.cohort:
                        yield Finding(
                            (*path, key),
                            "no limit: a queue without a cohort neither borrows nor lends (Kueue)",
                            f"remove `{key}`, or give the queue a `cohort`",
                        )
                if quota.lending_limit is not None and amount(quota.lending_limit) > amount(quota.nominal):
                    yield Finding(
                        (*path, "lendingLimit"),
                        f"at most the nominal quota, which is {quota.nominal} (Kueue)",
                        "lower the one or raise the other",
                    )


def tenants_suit_queues(settings: "Settings") -> Iterator[Finding]:
    known = [queue.name for queue in settings.queues.cluster_queues]
    for i, tenant in enumerate(settings.tenants):
        path: Path = ("muster:tenants", i)
        if tenant.namespace in OWN_NAMESPACES or tenant.namespace.startswith(OWN_PREFIXES):
            yield Finding(
                (*path, "namespace"),
                f"a namespace of the team's own: not {', '.join(OWN_NAMESPACES)}, nor one of the system's "
                f"({', '.join(f'{prefix}*' for prefix in OWN_PREFIXES)})",
                "choose another name",
            )
        for local, target in tenant.queues.items():
            if target not in known:
                yield Finding(
                    (*path, "queues", local),
                    "the name of a cluster queue in this file",
                    did_you_mean(target, known),
                )
