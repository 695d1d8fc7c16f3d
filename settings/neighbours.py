"""Names in Google Cloud that several stack files of a folder use, although only one stack can have them."""

from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath

from settings.load import SettingsError, config_of, parse
from settings.model.foundation.cluster import Gke
from settings.model.google_cloud import SUBNETWORK
from settings.model.stack import Settings
from settings.problems import Doubt, Path, warning
from settings.rules.tenants import chosen_names
from settings.split import whole

SECTIONS = {
    "project": "gcp:project",
    "cluster": "muster:cluster",
    "network": "muster:network",
    "controller": "muster:controller",
    "tenants": "muster:tenants",
}
"""The sections with such names, and their keys in a file."""


def shared_names(file: FilePath) -> list[str]:
    """Returns a warning for each name that the stack file shares with another one of its folder, except for
    files of the same platform.

    A file in which these sections are invalid has no names: its own preview reports it.
    """
    config = _config(file)
    own = list(_names(config, file))
    warnings: list[str] = []
    compared = {file, *_platform(file)}
    for other in sorted(file.parent.glob("Pulumi.*.yaml")):
        if other in compared:
            continue
        compared |= {other, *_platform(other)}
        theirs = {resource for _, resource in _names(_config(other), other)}
        for path, resource in own:
            if resource in theirs:
                why = f"{other.name} has {resource} too, which only one platform can"
                warnings.append(warning(Doubt(path, why, "docs/several-clusters.md"), config))
    return warnings


def _platform(file: FilePath) -> set[FilePath]:
    """Returns the files of the stacks that deploy a platform together with that of `file`."""
    try:
        split = whole(config_of(file), file, config_of).split
    except SettingsError:
        return set()
    return {file.with_name(f"Pulumi.{stack}.yaml") for stack in split.stacks} if split else set()


def _config(file: FilePath) -> Mapping[str, object]:
    """Returns the sections with names, of a split platform from all of its files."""
    try:
        config = whole(config_of(file), file, config_of).config
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
        yield from _ranges(settings.cluster, settings.project or "")
        yield from _domains(settings, settings.cluster)
    yield from _builds(settings)
    if settings.network:
        yield ("muster:network", "name"), f"network {settings.network.name} {project}"
    for kind, path, name in chosen_names(settings):
        yield path, f"{kind} {name}" + (f" {project}" if kind == "Google service account" else "")


def _ranges(cluster: Gke, project: str) -> Iterator[tuple[Path, str]]:
    """Yields the secondary ranges of an existing subnet, which clusters may share, but not its ranges."""
    path = SUBNETWORK.fullmatch(cluster.subnetwork or "")
    if path is None:
        return
    region, owner = path["region"] or cluster.region, path["project"] or project
    subnet = f"of subnet {path[0].rpartition('/')[2]} in {region} of project {owner}"
    ranges: dict[Path, str | None] = {
        ("podsRange",): cluster.pods_range,
        ("servicesRange",): cluster.services_range,
    }
    ranges |= {("additionalPodsRanges", i): name for i, name in enumerate(cluster.additional_pods_ranges)}
    for key, name in ranges.items():
        if name:
            yield ("muster:cluster", *key), f"range {name} {subnet}"


def _domains(settings: Settings, cluster: Gke) -> Iterator[tuple[Path, str]]:
    """Yields the domains of a cluster that its whole VPC reads."""
    dns = cluster.dns
    if dns is None or dns.provider != "cloud-dns":
        return
    vpc = settings.network.name if settings.network else (cluster.network or "default").rpartition("/")[2]
    owner = cluster.host_project or settings.project
    domains = {
        "domain": dns.domain if dns.scope == "vpc" else None,
        "additiveVpcDomain": dns.additive_vpc_domain,
    }
    for key, domain in domains.items():
        if domain:
            yield ("muster:cluster", "dns", key), f"domain {domain} of network {vpc} of project {owner}"


def _builds(settings: Settings) -> Iterator[tuple[Path, str]]:
    """Yields the registry of the controller's image, and the project's policy of images that a stack owns."""
    build = settings.controller.build if settings.controller else None
    if build is None or settings.place is None:
        return
    path: Path = ("muster:controller", "build")
    if build.repository:
        place = f"in {settings.place.region} of project {settings.project}"
        yield (*path, "repository"), f"repository {build.repository} {place}"
    if build.signature and build.signature.required:
        policy = f"the Binary Authorization policy of project {settings.project}"
        yield (*path, "signature", "required"), policy
