"""Rules of Ray's heads: each head that a queue admits has a node to run on."""

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from math import floor

from settings.model.base import amount
from settings.model.pools.allocatable import GIB, Amounts
from settings.model.pools.pool import Pool
from settings.model.queues.queue import ClusterQueue
from settings.model.stack import Settings
from settings.problems import Doubt, Finding, Path
from settings.rules.capacity import for_queues, headroom
from settings.rules.queues import holders
from settings.rules.registry import doubt, rule
from settings.rules.tenants import tenants_of

# The smallest head of examples/.
HEAD = {"cpu": Fraction(1), "memory": Fraction(2 * GIB)}


@rule("pools", "queues", "tenants")
def heads_are_not_queued(settings: Settings) -> Iterator[Finding]:
    """A tenant's queue has CPUs in a flavor that is not queued: heads request no accelerators, and GKE
    refuses ProvisioningRequests of pods without any (GKE, queued provisioning)."""
    used, flavors = set(settings.local_queues.values()), {pool.flavor_name for pool in settings.pools}
    if all(pool.scheduled for pool in settings.pools):
        return  # refused by some_pool_is_not_queued
    for i, queue in enumerate(settings.queues.cluster_queues):
        if queue.name in used and queue.quotas.keys() <= flavors and not _for_heads(queue, settings):
            yield Finding(
                ("muster:queues", "clusterQueues", i, "quotas"),
                "CPUs in a flavor that is not queued, for Ray's heads: these request no accelerators, "
                "without which GKE provisions no nodes (GKE, queued provisioning)",
                "add quota of `cpu` in the flavor of such a pool, such as cpu: {cpu: 8, memory: 32Gi}",
            )


def _for_heads(queue: ClusterQueue, settings: Settings) -> list[Pool]:
    """Returns the pools in whose flavors the queue admits heads."""
    return [
        pool for pool in settings.pools if not pool.queued and "cpu" in queue.quotas.get(pool.flavor_name, {})
    ]


@rule("cluster", "pools", "queues", "tenants")
def heads_fit_on_nodes(settings: Settings) -> Iterator[Finding]:
    """Some node of a queue's flavors is large enough for a head of one core and 2 GiB, as in the examples,
    and for the least that a tenant's LimitRange lets a container request (GKE, plan node sizes).

    The nodes of a cluster elsewhere are not known.
    """
    if settings.place is None:
        return
    queues = {queue.name: queue for queue in settings.queues.cluster_queues}
    for path, tenant in tenants_of(settings):
        for local, target in tenant.queues.items():
            pools = _for_heads(queues[target], settings) if target in queues else []
            if pools and not any(_holds(pool, HEAD) for pool in pools):
                yield Finding(
                    (*path, "queues", local),
                    f"a queue with a node for a head of 1 CPU and 2Gi: those of {_named(pools)} have less "
                    "for pods (GKE, plan node sizes)",
                    "choose a larger machine type for heads",
                )
            for bound, least in (tenant.limits.model_dump(by_alias=True) if tenant.limits else {}).items():
                asked = {resource: amount(quantity) for resource, quantity in least.items()}
                small = {key: asked[key] for key in asked.keys() & HEAD.keys()}
                if bound in ("min", "defaultRequest") and pools and not any(_holds(p, small) for p in pools):
                    yield Finding(
                        (*path, "limits", bound),
                        f"amounts for which a node has room: those of {_named(pools)}, where heads run, "
                        "have less for pods (GKE, plan node sizes)",
                        "lower it, or choose a larger machine type for heads",
                    )


@doubt("tenants")
def heads_may_be_refused(settings: Settings) -> Iterator[Doubt]:
    """A LimitRange lets in a head of one core and 2 GiB, as in the examples (Kubernetes, LimitRange)."""
    for path, tenant in tenants_of(settings):
        for resource, most in tenant.limits.max.items() if tenant.limits else ():
            least = HEAD.get(resource)
            if least is not None and amount(most) < least:
                yield Doubt(
                    (*path, "limits", "max", resource),
                    "Kubernetes refuses a head of 1 CPU and 2Gi, the smallest of the examples, and a gang "
                    "without a head never starts",
                    "Kubernetes, LimitRange",
                )


@rule("cluster", "pools", "kuberay", "kueue", "kai", "admission", "controller", "queues")
def heads_fit_beside_each_other(settings: Settings) -> Iterator[Finding]:
    """Nodes without accelerators have whole cores for the CPUs that their quotas grant: heads of one core
    that are admitted beyond that have no node (GKE, plan node sizes)."""
    if settings.place is None:
        return
    granted: dict[str, Fraction] = defaultdict(Fraction)
    paths: dict[str, Path] = {}
    for holder in holders(settings):
        for flavor, quotas in holder.quotas.items():
            if "cpu" in quotas:
                granted[flavor] += amount(quotas["cpu"].nominal)
                paths[flavor] = (*holder.path, flavor, "cpu")
    for pool in settings.pools:
        if pool.accelerators or pool.flavor_name not in granted:
            continue
        each, cpus = floor(headroom(pool)["cpu"]), granted[pool.flavor_name]
        # Other rules refuse nodes that hold no head, and quotas of more than all nodes have together.
        if each and (most := pool.nodes_max * each) < cpus <= for_queues(pool, settings)["cpu"]:
            yield Finding(
                paths[pool.flavor_name],
                f"at most {most} of cpu in all quotas of flavor {pool.flavor_name}: each of the "
                f"{pool.nodes_max} nodes of pool {pool.name} holds {each} heads of 1 CPU (GKE, plan "
                "node sizes)",
                "lower the quotas, or give the pool more or larger nodes",
            )


def _holds(pool: Pool, requests: Amounts) -> bool:
    return all(size <= headroom(pool)[resource] for resource, size in requests.items())


def _named(pools: list[Pool]) -> str:
    return " and ".join(f"pool {pool.name}" for pool in pools)
