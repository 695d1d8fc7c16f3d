"""Names in Google Cloud that several stack files of a folder use, although only one stack can have them."""

from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath

from settings.load import SettingsError, config_of, parse
from settings.model.foundation.cluster import Gke
from settings.model.stack import Settings
from settings.problems import Doubt, Path, warning
from settings.rules.tenants import chosen_names

SECTIONS = {
    "project": "gcp:project",
    "cluster": "muster:cluster",
    "network": "muster:network",
    "controller": "muster:controller",
    "tenants": "muster:tenants",
}
"""The sections with such names, and their keys in a file."""


def shared_names(file: FilePath) -> list[str]:
    """Returns a warning for each name that the stack file shares with another one of its folder.

    A file in which these sections are invalid has no names: its own preview says why.
    """
    config = _config(file)
    own = list(_names(config, file))
    warnings: list[str] = []
    for other in sorted(set(file.parent.glob("Pulumi.*.yaml")) - {file}):
        theirs = {resource for _, resource in _names(_config(other), other)}
        for path, resource in own:
            if resource in theirs:
                why = f"{other.name} declares {resource} too, which only one stack can"
                warnings.append(warning(Doubt(path, why, "docs/several-clusters.md"), config))
    return warnings


def _config(file: FilePath) -> Mapping[str, object]:
    try:
        config = config_of(file)
    except SettingsError:
        return {}
    return {key: config[key] for key in SECTIONS.values() if key in config}


def _names(config: Mapping[str, object], file: FilePath) -> Iterator[tuple[Path, str]]:
    """Yields the path of each name, and its resource as a phrase that is unique in all of Google Cloud."""
    try:
        settings = parse(config, str(file), SECTIONS.keys())
    except SettingsError:
        return
    if settings.place:
        yield from _resources(settings)


def _resources(settings: Settings) -> Iterator[tuple[Path, str]]:
    project = f"of project {settings.project}"
    if isinstance(settings.cluster, Gke):
        location = settings.cluster.location
        yield ("muster:cluster", "name"), f"cluster {settings.cluster.name} in {location} {project}"
    if settings.network:
        yield ("muster:network", "name"), f"network {settings.network.name} {project}"
    for kind, path, name in chosen_names(settings):
        yield path, f"{kind} {name}" + (f" {project}" if kind == "Google service account" else "")
