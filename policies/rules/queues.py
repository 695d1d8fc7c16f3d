"""Queues and their pools, checked for the stack as a whole."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from policies.reading import pick
from policies.rule import Resource, Violation, stack_rule
from policies.rules.capacity import gpus_max
from policies.rules.node_pools import NODE_POOL, is_queued

KUEUE = "kubernetes:kueue.x-k8s.io"
FLAVOR, CHECK = f"{KUEUE}:ResourceFlavor", f"{KUEUE}:AdmissionCheck"
CLUSTER_QUEUE, COHORT = f"{KUEUE}:ClusterQueue", f"{KUEUE}:Cohort"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"
POOL_LABEL = "cloud.google.com/gke-nodepool"
GPU = "nvidia.com/gpu"


@stack_rule(
    "muster-queued-pool-has-checked-flavor",
    source="GKE, queued provisioning; Kueue, ProvisioningRequest AdmissionCheck",
    severity="high",
)
def queued_pool_has_checked_flavor(resources: Sequence[Resource]) -> Iterator[Violation]:
    """Queues with quota of a queued pool have a provisioning AdmissionCheck: without its ProvisioningRequest
    no nodes are created, and admitted jobs hold quota and wait forever. The queues of a stack without flavors
    are in another one."""
    if not any(r.kind == FLAVOR for r in resources):
        return
    checks = {
        _name(r)
        for r in resources
        if r.kind == CHECK and pick(r.props, "spec", "controllerName") == PROVISIONING
    }
    queues = [r for r in resources if r.kind == CLUSTER_QUEUE]
    for pool in resources:
        if pool.kind != NODE_POOL or not is_queued(pool):
            continue
        flavors = _flavors_of(pool, resources)
        if not flavors:
            yield Violation(
                pool, f"declare a ResourceFlavor with nodeLabels {POOL_LABEL}: {_pool_name(pool)}"
            )
        for flavor in flavors:
            users = [queue for queue in queues if flavor in _flavors_in(queue)]
            if not users:
                yield Violation(pool, f"give a ClusterQueue quota of flavor {flavor}, or remove the pool")
            for queue in users:
                if not _is_checked(queue, flavor, checks):
                    yield Violation(
                        queue,
                        f"add an AdmissionCheck of {PROVISIONING} for flavor {flavor} to "
                        f"spec.admissionChecksStrategy: pool {_pool_name(pool)} is queued",
                    )


@stack_rule(
    "muster-quota-is-finite",
    source="Kueue, ClusterQueue: nominalQuota is the available capacity; GKE, node pool autoscaling limits",
    severity="medium",
)
def quota_is_finite(resources: Sequence[Resource]) -> Iterator[Violation]:
    """Every resource of every flavor has a quota, and the quotas together do not exceed the GPUs that the
    flavor's pool can provide: jobs admitted beyond that wait for nodes that are never created."""
    totals: dict[str, float] = defaultdict(float)
    holders: dict[str, Resource] = {}
    for holder in (r for r in resources if r.kind in (CLUSTER_QUEUE, COHORT)):
        for flavor, resource, quota in _quotas(holder):
            if quota is None:
                yield Violation(holder, f"set the nominalQuota of {resource} in flavor {flavor}")
            elif resource == GPU and not str(quota).removesuffix(".0").isdecimal():
                yield Violation(
                    holder, f"write the nominalQuota of {GPU} in flavor {flavor} as a plain number"
                )
            elif resource == GPU:
                totals[flavor] += float(quota)
                holders[flavor] = holder
    for flavor, quota in totals.items():
        pools = [r for r in resources if r.kind == NODE_POOL and flavor in _flavors_of(r, resources)]
        there = [gpus_max(pool) for pool in pools]
        if pools and None not in there and quota > sum(filter(None, there)):
            yield Violation(
                holders[flavor],
                f"lower the quotas of {GPU} in flavor {flavor}, {quota:g} in total, or raise the limits of "
                f"{' and '.join(map(_pool_name, pools))}, which can have {sum(filter(None, there))}",
            )


def _name(resource: Resource) -> str:
    return pick(resource.props, "metadata", "name") or resource.name


def _pool_name(pool: Resource) -> str:
    return pool.props.get("name") or pool.name


def _flavors_of(pool: Resource, resources: Sequence[Resource]) -> list[str]:
    """Returns the flavors that select this pool's nodes: all labels that both have are equal."""
    labels, names = _labels(pool), []
    for flavor in (r for r in resources if r.kind == FLAVOR):
        node_labels = pick(flavor.props, "spec", "nodeLabels") or {}
        shared = node_labels.keys() & labels.keys()
        if shared and all(node_labels[key] == labels[key] for key in shared):
            names.append(_name(flavor))
    return names


def _labels(pool: Resource) -> dict[str, Any]:
    """Returns the node labels that a pool declares or that GKE derives from it."""
    accelerators = pick(pool.props, "nodeConfig", "guestAccelerators")
    derived = {
        POOL_LABEL: _pool_name(pool),
        "cloud.google.com/gke-accelerator": accelerators[0]["type"] if accelerators else None,
        "cloud.google.com/gke-tpu-topology": pick(pool.props, "placementPolicy", "tpuTopology"),
    }
    resolved = {key: value for key, value in derived.items() if value is not None}
    return {**resolved, **(pick(pool.props, "nodeConfig", "labels") or {})}


def _flavors_in(queue: Resource) -> set[str]:
    return {flavor for flavor, _, _ in _quotas(queue)}


def _quotas(holder: Resource) -> Iterator[tuple[str, str, Any]]:
    """Yields flavor, resource and nominal quota (None if absent) of a ClusterQueue or Cohort."""
    for group in pick(holder.props, "spec", "resourceGroups") or ():
        for flavor in group["flavors"]:
            quotas = {resource["name"]: resource.get("nominalQuota") for resource in flavor["resources"]}
            for resource in group["coveredResources"]:
                yield flavor["name"], resource, quotas.get(resource)


def _is_checked(queue: Resource, flavor: str, checks: set[str]) -> bool:
    """Returns whether one of the checks applies to the flavor; no `onFlavors` means all flavors."""
    strategy = pick(queue.props, "spec", "admissionChecksStrategy", "admissionChecks") or ()
    return any(
        check["name"] in checks and (not check.get("onFlavors") or flavor in check["onFlavors"])
        for check in strategy
    )
