"""GKE node pools, as the settings' pools describe them."""

from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp
from pulumi_gcp.container import (
    NodePoolAutoscalingArgs,
    NodePoolManagementArgs,
    NodePoolNodeConfigArgs,
    NodePoolNodeConfigGuestAcceleratorArgs,
    NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs,
    NodePoolNodeConfigReservationAffinityArgs,
    NodePoolNodeConfigTaintArgs,
    NodePoolNodeConfigWorkloadMetadataConfigArgs,
    NodePoolQueuedProvisioningArgs,
)

from components.base import Component
from stacks.pools import Gpu, Pool

DRIVER_VERSIONS = {"default": "DEFAULT", "latest": "LATEST", "disabled": "INSTALLATION_DISABLED"}
TAINT_EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}


@dataclass(frozen=True)
class NodePoolsArgs:
    """`regional` decides whether node counts are those of the pool or of its one zone."""

    pools: tuple[Pool, ...]
    project: str
    cluster: pulumi.Input[str]
    location: str
    regional: bool


class NodePools(Component):
    """One `gcp.container.NodePool` a pool; `pools` holds them by name."""

    def __init__(self, name: str, args: NodePoolsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("NodePools", name, opts)
        self.pools: dict[str, gcp.container.NodePool] = {}
        # GPU pools last: GKE taints GPU nodes by itself only where a pool without GPUs runs already.
        for pool in sorted(args.pools, key=lambda pool: pool.gpu is not None):
            plain = [self.pools[other.name] for other in args.pools if not other.gpu] if pool.gpu else []
            self.pools[pool.name] = self._pool(pool, args, plain)
        self.register_outputs({"names": list(self.pools)})

    def _pool(
        self, pool: Pool, args: NodePoolsArgs, after: list[gcp.container.NodePool]
    ) -> gcp.container.NodePool:
        return gcp.container.NodePool(
            pool.name,
            name=pool.name,
            project=args.project,
            cluster=args.cluster,
            location=args.location,
            initial_node_count=_initial(pool, args.regional),
            autoscaling=_autoscaling(pool, args.regional),
            queued_provisioning=NodePoolQueuedProvisioningArgs(enabled=True) if pool.queued else None,
            # Queued pools are left to GKE, upgrade_settings too: it upgrades them when nothing runs there.
            management=None if pool.queued else NodePoolManagementArgs(auto_repair=True, auto_upgrade=True),
            node_config=_node_config(pool),
            opts=self.child(
                depends_on=after,
                # The autoscaler owns the count, and GKE reports a changed one as the initial one, which
                # would recreate the pool.
                ignore_changes=["initialNodeCount", "nodeCount"],
            ),
        )


def _initial(pool: Pool, regional: bool) -> int:
    """Nodes at the start (in each zone, if regional): `nodes.min` unless said otherwise."""
    if pool.nodes.initial is not None:
        return pool.nodes.initial
    return min(pool.nodes.min, 1) if regional else pool.nodes.min


def _autoscaling(pool: Pool, regional: bool) -> NodePoolAutoscalingArgs:
    """Limits of the whole pool: GKE counts `min_node_count` by zone, `total_*` over all; never both."""
    # ANY takes the zone that has the capacity, where BALANCED would wait for all of them.
    policy = "BALANCED" if pool.provisioning == "on-demand" else "ANY"
    if regional:
        return NodePoolAutoscalingArgs(
            total_min_node_count=pool.nodes.min, total_max_node_count=pool.nodes.max, location_policy=policy
        )
    return NodePoolAutoscalingArgs(
        min_node_count=pool.nodes.min, max_node_count=pool.nodes.max, location_policy=policy
    )


def _node_config(pool: Pool) -> NodePoolNodeConfigArgs:
    # Reservations serve neither queued nor spot nodes; GKE refuses queued pools that may use them.
    no_reservation = NodePoolNodeConfigReservationAffinityArgs(consume_reservation_type="NO_RESERVATION")
    return NodePoolNodeConfigArgs(
        machine_type=pool.machine_type,
        guest_accelerators=[_accelerator(pool.gpu)] if pool.gpu else None,
        reservation_affinity=None if pool.provisioning == "on-demand" else no_reservation,
        spot=True if pool.provisioning == "spot" else None,
        taints=[
            NodePoolNodeConfigTaintArgs(key=key, value=value, effect=TAINT_EFFECTS[effect])
            for key, value, effect in pool.declared_taints
        ]
        or None,
        workload_metadata_config=NodePoolNodeConfigWorkloadMetadataConfigArgs(mode="GKE_METADATA"),
    )


def _accelerator(gpu: Gpu) -> NodePoolNodeConfigGuestAcceleratorArgs:
    return NodePoolNodeConfigGuestAcceleratorArgs(
        type=gpu.type,
        count=gpu.count,
        gpu_driver_installation_config=NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs(
            gpu_driver_version=DRIVER_VERSIONS[gpu.driver]
        ),
    )
