"""Rules of node pools."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stacks.problems import Finding
from stacks.rules.names import unique

if TYPE_CHECKING:
    from stacks.settings import Settings


def pool_names_are_unique(settings: "Settings") -> Iterator[Finding]:
    pools = settings.pools
    yield from unique(((("muster:pools", i, "name"), pool.name) for i, pool in enumerate(pools)), "pool name")
    taken = {pool.name for pool in pools if not pool.flavor}
    for i, pool in enumerate(pools):
        if pool.flavor in taken:
            yield Finding(
                ("muster:pools", i, "flavor"),
                "a flavor of its own: a flavor is one kind of node",
                f"{pool.flavor} is taken already; choose another name",
            )
        taken.add(pool.flavor_name)


def pools_suit_their_machines(settings: "Settings") -> Iterator[Finding]:
    """Accelerator-optimized machines come with a fixed number of GPUs (Compute Engine)."""
    for i, pool in enumerate(settings.pools):
        machine, path = pool.machine, ("muster:pools", i, "gpu")
        own = f"{{type: {machine.gpu_type}, count: {machine.gpu_count}}}"
        if pool.gpu and not machine.gpu_type:
            yield Finding(
                path,
                f"no GPU: {pool.machine_type} carries none",
                "remove `gpu`, or choose a g2, a2 or a3 machine",
            )
        elif machine.gpu_type and not pool.gpu:
            yield Finding(path, f"{own}, which {pool.machine_type} carries", f"add `gpu: {own}`")
        elif pool.gpu and pool.gpu.type != machine.gpu_type:
            yield Finding(
                (*path, "type"),
                f"{machine.gpu_type}, which {pool.machine_type} carries",
                f"write {machine.gpu_type}, or choose another machine type",
            )
        elif pool.gpu and pool.gpu.count != machine.gpu_count:
            yield Finding(
                (*path, "count"),
                f"{machine.gpu_count}, as many as {pool.machine_type} carries",
                f"write {machine.gpu_count}, or choose another machine type",
            )


def node_counts_are_in_order(settings: "Settings") -> Iterator[Finding]:
    for i, pool in enumerate(settings.pools):
        nodes, path = pool.nodes, ("muster:pools", i, "nodes")
        if nodes.min > nodes.max:
            yield Finding(
                (*path, "min"), f"at most nodes.max, which is {nodes.max}", "lower the one or raise the other"
            )
        if nodes.initial is not None and nodes.initial > nodes.max:
            yield Finding(
                (*path, "initial"),
                f"at most nodes.max, which is {nodes.max}",
                "lower the one or raise the other",
            )


def queued_pools_start_empty(settings: "Settings") -> Iterator[Finding]:
    """Autoscaled from 0, by requests only (GKE, "GPUs for batch workloads with queued provisioning")."""
    for i, pool in enumerate(settings.pools):
        if not pool.queued:
            continue
        path = ("muster:pools", i)
        if not pool.machine.gpu_count:
            yield Finding(
                (*path, "provisioning"),
                "on-demand or spot: GKE rejects queued requests for pods with CPUs only",
                "choose on-demand, or a machine type with GPUs",
            )
        for key, value in (("min", pool.nodes.min), ("initial", pool.nodes.initial or 0)):
            if value:
                yield Finding(
                    (*path, "nodes", key),
                    "0: only ProvisioningRequests bring nodes to a queued pool (GKE, queued provisioning)",
                    f"write 0, or leave `{key}` out",
                )


def some_pool_is_not_queued(settings: "Settings") -> Iterator[Finding]:
    """GKE needs one for system pods; KubeRay, the controller and Ray's heads run there too."""
    if all(pool.queued for pool in settings.pools):
        yield Finding(
            ("muster:pools",),
            "a pool that is not queued, for system pods and Ray's heads (GKE, queued provisioning)",
            "add one, such as {name: system, machineType: e2-standard-4, nodes: {min: 1, max: 3}}",
        )
