"""Stack files for `muster recommend`: their text, configuration and pools, and candidates as settings."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muster.cli import configurations
from muster.cli.configurations import SimulatedConfiguration
from muster.files.reading import read_text
from muster.files.yaml_documents import document
from muster.forecast.configuration import ConfigurationError
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


def read_stack(name: str) -> ValidStackFile:
    """Reads a stack file by the stack's name or its path. Raises: InputError."""
    side = configurations.stack(name)
    file = Path(configurations.stack_file(name))
    text = read_text(file, "a stack file", pipes=False)
    config = document(text, str(file))["config"]
    return ValidStackFile(file, text, config, side, lambda config: build(config, name))


def build(config: Mapping[str, Any], name: str) -> Built:
    """Parses a configuration into settings. Raises: InvalidCandidate with the first problem."""
    from settings.load import SettingsError, parse

    try:
        settings = parse(config, name)
        configuration = configurations.declared(settings, name).configuration
    except SettingsError as error:
        problem = error.problems[0]
        raise InvalidCandidate(f"{problem.path}: expected {problem.expected}") from error
    except ConfigurationError as error:
        raise InvalidCandidate(str(error)) from error
    return Built(configuration, [_size(pool) for pool in settings.pools], _digest(settings))


def _size(pool: "Pool") -> PoolSize:
    unit, units = ("slices", pool.slices.max) if pool.slices else ("nodes", pool.nodes_max)
    return PoolSize(pool.name, pool.flavor_name, unit, units, pool.accelerators * pool.slice_nodes)


def _digest(settings: "Settings") -> str:
    from settings.manifests.objects import manifests

    parts = [settings.model_dump_json(), manifests(settings)]
    return sha256(json.dumps(parts).encode()).hexdigest()
