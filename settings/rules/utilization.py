"""Warnings about quotas that gangs cannot use: too few CPUs, less than a node, nothing to borrow."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from settings.model.base import amount
from settings.model.pools.allocatable import GIB
from settings.model.pools.pool import Pool
from settings.model.pools.tpus import TPU_RESOURCE
from settings.model.stack import Settings
from settings.problems import Doubt, Path
from settings.rules.queues import Holder, cohorts_above, flavors_of_queues, holders
from settings.rules.registry import doubt

# The least for each device: of the node's share, and in CPUs and bytes. Ray's processes alone use as much.
SHARE_LEAST = Fraction(1, 20)
LEAST = {"cpu": Fraction(1), "memory": Fraction(GIB)}


class Shared(NamedTuple):
    """The quotas that a cluster queue and its relatives may lend each other."""

    holders: list[Holder]

    def nominal(self, flavor: str, resource: str) -> Fraction:
        """Returns the sum of the nominal quotas."""
        quotas = (holder.quotas.get(flavor, {}).get(resource) for holder in self.holders)
        return sum((amount(quota.nominal) for quota in quotas if quota), Fraction(0))


def shared_quotas(settings: Settings) -> Mapping[Path, Shared]:
    """Returns the shared quotas of each cluster queue and cohort, by the path of its quotas."""
    roots: dict[object, list[Holder]] = defaultdict(list)
    names = [queue.name for queue in settings.queues.cluster_queues]
    names += [cohort.name for cohort in settings.queues.cohorts]
    for name, holder in zip(names, holders(settings), strict=True):
        above = cohorts_above(settings, name if holder.kind == "cohort" else holder.parent)
        roots[above[-1] if above else holder.path].append(holder)
    return {holder.path: Shared(members) for members in roots.values() for holder in members}


@doubt("pools", "queues")
def devices_may_lack_cpus(settings: Settings) -> Iterator[Doubt]:
    """Each GPU or chip of a quota has at least one CPU and 1 GiB, and a twentieth of its share of the node
    (Ray, RayCluster configuration: resources; the raylet and the object store are part of each worker)."""
    shared = shared_quotas(settings)
    for path, _, pool in flavors_of_queues(settings):
        device, of_node = _device(pool)
        quotas, flavor = shared[path[:-1]], pool.flavor_name
        devices = quotas.nominal(flavor, device) if device else Fraction(0)
        for resource, least in LEAST.items():
            granted = quotas.nominal(flavor, resource)
            each = max(least, amount(pool.capacity[resource]) / of_node * SHARE_LEAST) if devices else least
            if granted and granted < devices * each:
                yield Doubt(
                    (*path, resource),
                    f"{_count(granted, resource)} for {float(devices):g} {device}: at most "
                    f"{int(granted // each)} of them have the {_count(each, resource)} that a worker of "
                    "Ray needs for each, so the others stay idle",
                    "Ray, RayCluster configuration",
                )


@doubt("pools", "queues")
def quotas_may_be_smaller_than_nodes(settings: Settings) -> Iterator[Doubt]:
    """A worker that uses all GPUs of a node, as most training does, fits into the quota (GKE, "Plan GPUs").
    The proof refuses quotas of less than a TPU slice."""
    shared = shared_quotas(settings)
    for path, queue, pool in flavors_of_queues(settings):
        device, of_node = _device(pool)
        if not device or device == TPU_RESOURCE or (pool.gpu and (pool.gpu.sharing or pool.gpu.partition)):
            continue
        devices = shared[path[:-1]].nominal(pool.flavor_name, device)
        if device in queue.quotas[pool.flavor_name] and 0 < devices < of_node:
            yield Doubt(
                (*path, device),
                f"machines of pool {pool.name} have {of_node}, but quotas grant {float(devices):g}: a worker "
                "that uses a whole machine never starts",
                "Kueue: resourceGroups",
            )


@doubt("queues")
def limits_of_borrowing_may_have_no_effect(settings: Settings) -> Iterator[Doubt]:
    """A queue borrows from the other queues and cohorts of its tree (Kueue: ResourceQuota.borrowingLimit)."""
    shared = shared_quotas(settings)
    for holder in holders(settings):
        for flavor, quotas in holder.quotas.items():
            for resource, quota in quotas.items():
                others = shared[holder.path].nominal(flavor, resource) - amount(quota.nominal)
                limit = quota.borrowing_limit
                if holder.parent and limit and amount(limit) and not others and holder.kind == "queue":
                    yield Doubt(
                        (*holder.path, flavor, resource, "borrowingLimit"),
                        f"no other queue or cohort of its tree has {resource} of flavor {flavor}, so there "
                        "is nothing to borrow",
                        "Kueue: ResourceQuota.borrowingLimit",
                    )


def _device(pool: Pool) -> tuple[str, int]:
    """Returns the resource of the pool's devices, empty if it has none, and their number on a node."""
    devices = [resource for resource in pool.capacity if "/" in resource]
    return (devices[0], int(pool.capacity[devices[0]])) if devices else ("", 1)


def _count(quantity: Fraction, resource: str) -> str:
    if resource == "memory":
        return f"{float(quantity / GIB):.3g} GiB"
    return f"{float(quantity):.3g} CPU{'' if quantity == 1 else 's'}"
