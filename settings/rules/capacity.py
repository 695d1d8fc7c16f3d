"""Rules of the capacity behind quotas: what nodes have for the pods of queues."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

from settings.model.base import amount
from settings.model.operators.shared import Resources
from settings.model.pools.allocatable import GIB, Amounts, allocatable
from settings.model.pools.parts import DaemonSets
from settings.model.pools.pool import Pool
from settings.model.stack import Settings
from settings.problems import Doubt, Finding, Path
from settings.rules.queues import holders
from settings.rules.registry import doubt, rule

# An estimate of GKE's pods that run once a cluster: DNS, metrics, Konnectivity, collectors of Prometheus.
GKE_PODS = {"cpu": Fraction(1), "memory": Fraction(GIB), "pods": Fraction(12)}


class Grant(NamedTuple):
    """Total of a resource in all quotas of a flavor; the last of them is at `path`."""

    pool: Pool
    resource: str
    total: Fraction
    path: Path


@rule("cluster", "pools", "kuberay", "kueue", "kai", "admission", "controller", "queues")
def quotas_have_nodes(settings: Settings) -> Iterator[Finding]:
    """The nodes of a flavor have what its quotas grant together: gangs that are admitted beyond that would
    wait for nodes that are never created (GKE, plan node sizes).

    The nodes of a cluster elsewhere are not known.
    """
    for grant in _grants(settings) if settings.place else ():
        available = for_queues(grant.pool, settings).get(grant.resource)
        if available is not None and grant.total > available:
            yield Finding(
                grant.path,
                _exceeded(grant, available) + " (GKE, plan node sizes)",
                "lower the quotas, or give the pool more or larger nodes",
            )


@doubt("cluster", "pools", "queues")
def quotas_may_exceed_the_devices(settings: Settings) -> Iterator[Doubt]:
    """In a cluster elsewhere too, quotas grant no more GPUs or TPU chips than the declared nodes have
    (Kueue: ClusterQueueSpec.resourceGroups)."""
    for grant in _grants(settings) if settings.place is None else ():
        available = grant.pool.nodes_max * amount(grant.pool.capacity.get(grant.resource, "0"))
        if "/" in grant.resource and grant.total > available:
            yield Doubt(
                grant.path,
                f"expected {_exceeded(grant, available)}; gangs that are admitted beyond that wait for nodes",
                "Kueue: resourceGroups",
            )


def _grants(settings: Settings) -> Iterator[Grant]:
    """Yields totals for flavors with a pool; other rules refuse other flavors."""
    pools = {pool.flavor_name: pool for pool in settings.pools}
    granted: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    paths: dict[tuple[str, str], Path] = {}
    for holder in holders(settings):
        for flavor, quotas in holder.quotas.items():
            for resource, quota in quotas.items():
                granted[flavor, resource] += amount(quota.nominal)
                paths[flavor, resource] = (*holder.path, flavor, resource)
    for (flavor, resource), total in granted.items():
        if flavor in pools:
            yield Grant(pools[flavor], resource, total, paths[flavor, resource])


def _exceeded(grant: Grant, available: Fraction) -> str:
    """Returns what is expected of quotas that grant more than the nodes have."""
    pool, resource = grant.pool, grant.resource
    most, now = _written(available, resource, floor), _written(grant.total, resource, ceil)
    return (
        f"at most {most} of {resource} in all quotas of flavor {pool.flavor_name}, which grant {now}: the "
        f"nodes of pool {pool.name}, {pool.nodes_max} at most, have no more for queues"
    )


def for_queues(pool: Pool, settings: Settings) -> Amounts:
    """Returns what GKE's reservations and DaemonSets leave of the pool's nodes, in cores, bytes and counts.

    On the system pool, the system's and the stack's own pods are taken off too.
    """
    once = _own_pods(settings) if pool == settings.system_pool else {}
    return {
        resource: max(Fraction(0), pool.nodes_max * size - once.get(resource, 0))
        for resource, size in headroom(pool).items()
    }


def headroom(pool: Pool) -> Amounts:
    """Returns what GKE's reservations and DaemonSets leave on one node, in cores, bytes and counts."""
    taken = (pool.daemon_sets or DaemonSets()).requests
    return {resource: size - taken.get(resource, 0) for resource, size in allocatable(pool).items()}


def _own_pods(settings: Settings) -> Mapping[str, Fraction]:
    """Returns the requests of the pods that GKE and the stack run on the system pool."""
    requested = dict(GKE_PODS)
    for replicas, resources in _operators(settings):
        requested["cpu"] += replicas * amount(resources.requests.cpu)
        requested["memory"] += replicas * amount(resources.requests.memory)
        requested["pods"] += replicas
    return requested


def _operators(settings: Settings) -> Iterator[tuple[int, Resources]]:
    engine, controller = settings.admission.engine, settings.controller
    kuberay, kueue, kai = settings.kuberay, settings.kueue, settings.kai
    if kuberay.install == "helm":
        yield kuberay.replicas, kuberay.resources
    if engine == "muster" and controller:
        yield controller.replicas, controller.resources
    if engine == "kueue" and kueue.install == "upstream":
        yield kueue.replicas, kueue.resources
    if engine == "kai" and kai.install == "helm":
        yield kai.replicas, kai.resources


def _written(value: Fraction, resource: str, rounded: Callable[[Fraction], int]) -> str:
    """Writes an amount, rounded to tenths of a core, GiB, or a whole number."""
    if resource in ("memory", "ephemeral-storage"):
        return f"{rounded(value / GIB)}Gi"
    if resource == "cpu":
        return f"{rounded(value * 10) / 10:g}"
    return str(rounded(value))
