"""Reads the nodes of the option `--nodes`, on which forecasts place gangs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from muster.cli.configurations import SimulatedConfiguration, manifests_below
from muster.cli.verb import InputError
from muster.forecast.nodes import with_nodes
from muster.forecast.queue_objects import read_nodes


def with_nodes_of(sides: Sequence[SimulatedConfiguration], path: Path | None) -> list[SimulatedConfiguration]:
    """Returns the configurations with the nodes of the option `--nodes`; assumed topology requests remain.

    Raises: FileError; ConfigurationError for an invalid node; InputError if a flavor with a topology has no
    node in the file."""
    if path is None:
        return [*sides]
    nodes = read_nodes(str(path), manifests_below(path))
    placing = []
    for side in sides:
        configuration = replace(
            with_nodes(side.configuration, nodes), topology_requests=side.configuration.topology_requests
        )
        if configuration.without_nodes:
            raise InputError(
                f"{path}: none of its {len(nodes):,} nodes has the labels and topology levels of flavor "
                f"{', '.join(configuration.without_nodes)} of {configuration.name}; expected at least one of "
                "each flavor with a topology"
            )
        placing.append(replace(side, configuration=configuration))
    if not any(side.configuration.topologies for side in placing):
        raise InputError(f"--nodes {path}: no flavor has a topology, so it would place no gang")
    return placing
