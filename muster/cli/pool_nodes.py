"""Assumes the nodes of a stack's pools, on which forecasts place gangs."""

from typing import TYPE_CHECKING

from muster import admission as core
from muster.admission.quantities import parse
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.nodes import AssumedNodes, with_assumed_nodes

if TYPE_CHECKING:
    from settings.load import Settings
    from settings.model.pools.pool import Pool


def with_pool_nodes(configuration: QueueConfiguration, settings: "Settings") -> QueueConfiguration:
    """Returns the configuration with the nodes of the stack's pools at their maximum size."""
    declared = settings.forecast.topologies
    assumed = []
    for pool in settings.pools:
        if pool.flavor_name not in configuration.topologies or pool.queued:
            continue
        topology = declared.get(pool.flavor_name)
        assumed.append(
            AssumedNodes(
                pool.flavor_name,
                pool.nodes_max,
                _allocatable(configuration.snapshot.flavors[pool.flavor_name], pool),
                topology.nodes_per_domain if topology else {},
                topology.request if topology else None,
                pool.name,
            )
        )
    return with_assumed_nodes(configuration, assumed)


def _allocatable(flavor: core.Flavor, pool: "Pool") -> dict[str, int]:
    """Returns the resources of one node for pods of gangs, after the reservations of GKE."""
    capacity = {name: parse(name, quantity) for name, quantity in pool.capacity.items()}
    return capacity | dict(flavor.node_sizes[0] if flavor.node_sizes else {})
