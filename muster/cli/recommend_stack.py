"""Stack files for `muster recommend`: their text, configuration and pools, and candidates as settings."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muster.cli import configurations
from muster.cli.configurations import SimulatedConfiguration
from muster.cli.nodes import with_nodes_of
from muster.cli.verb import InputError
from muster.files.reading import read_text
from muster.files.yaml_documents import document
from muster.forecast.configuration import ConfigurationError, QueueConfiguration
from muster.forecast.recommend.candidates import Build, Built
from muster.forecast.recommend.changes import PoolSize
from muster.forecast.recommend.errors import InvalidCandidate

if TYPE_CHECKING:
    from settings.load import Settings
    from settings.model.pools.pool import Pool


@dataclass(frozen=True, slots=True)
class ValidStackFile:
    """A stack file with valid settings. `text` has the line ends of the file."""

    file: Path
    text: str
    config: Mapping[str, Any]
    side: SimulatedConfiguration
    build: Build


def read_stack(name: str, nodes: Path | None) -> ValidStackFile:
    """Reads a stack file by the stack's name or its path; `nodes` is a file of nodes. Raises: InputError."""
    (side,) = with_nodes_of([configurations.stack(name)], nodes)
    file = Path(configurations.stack_file(name))
    text = read_text(file, "a stack file", pipes=False)
    config = document(text, str(file))["config"]
    from settings.model.split import SPLIT

    if SPLIT in config:
        raise InputError(f"{file}: a stack file without {SPLIT}; muster recommend does not change split ones")
    return ValidStackFile(file, text, config, side, lambda config: build(config, name, nodes))


def build(config: Mapping[str, Any], name: str, nodes: Path | None = None) -> Built:
    """Parses a configuration into settings, with the nodes of a file. Raises: InvalidCandidate with the first
    problem."""
    from settings.load import SettingsError, parse

    try:
        settings = parse(config, name)
        (side,) = with_nodes_of([configurations.declared(settings, name)], nodes)
    except SettingsError as error:
        problem = error.problems[0]
        raise InvalidCandidate(f"{problem.path}: expected {problem.expected}") from error
    except ConfigurationError as error:
        raise InvalidCandidate(str(error)) from error
    sizes = [_size(pool) for pool in settings.pools]
    return Built(side.configuration, sizes, _digest(settings, side.configuration))


def _size(pool: "Pool") -> PoolSize:
    unit, units = ("slices", pool.slices.max) if pool.slices else ("nodes", pool.nodes_max)
    return PoolSize(pool.name, pool.flavor_name, unit, units, pool.accelerators * pool.slice_nodes)


def _digest(settings: "Settings", configuration: QueueConfiguration) -> str:
    from settings.manifests.objects import manifests

    nodes = sorted(repr(node) for node in configuration.snapshot.nodes.values())
    parts = [settings.model_dump_json(), manifests(settings), nodes]
    return sha256(json.dumps(parts).encode()).hexdigest()
