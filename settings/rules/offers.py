"""Rules of what Google Cloud offers and where, as known on a date: machine types, zones and versions."""

from collections.abc import Iterator

from settings.facts.tables import table
from settings.model.foundation.cluster import Gke
from settings.model.foundation.place import zones_of
from settings.model.pools.machines import MACHINES, zone_facts
from settings.model.regions import ZONES
from settings.model.stack import Settings
from settings.model.versions import GkeVersion
from settings.problems import Doubt, Path
from settings.rules.provisioning import ways_to_get_nodes
from settings.rules.registry import doubt


@doubt("machine_types")
def machine_types_are_not_known(settings: Settings) -> Iterator[Doubt]:
    """The capacity of a machine type that `settings/facts/` does not list is what `muster:machineTypes` says
    (Compute Engine, list of machine types)."""
    facts = table("machines")
    for name in settings.machine_types:
        if name not in MACHINES:
            yield Doubt(
                ("muster:machineTypes", name),
                f"not known on {facts.date}: quotas and rules rely on the values given here",
                facts.source,
            )


@doubt("machine_types")
def machine_types_may_differ(settings: Settings) -> Iterator[Doubt]:
    """Values of a machine type that differ from `settings/facts/` are probably a mistake (Compute
    Engine, list of machine types)."""
    facts = table("machines")
    for name, machine in settings.machine_types.items():
        fact = MACHINES.get(name)
        if fact and (machine.vcpus, machine.memory_gib) != (fact.vcpus, fact.memory_gib):
            yield Doubt(
                ("muster:machineTypes", name),
                f"it had {fact.vcpus} vCPUs and {fact.memory_gib} GiB on {facts.date}: quotas and rules "
                "rely on the values given here",
                facts.source,
            )


@doubt("cluster", "pools")
def zones_may_lack_the_machines(settings: Settings) -> Iterator[Doubt]:
    """Accelerators are in few zones, and flex-start provides TPUs in fewer: elsewhere a node pool may stay
    empty (Compute Engine, GPU regions and zones; Cloud TPU, regions and zones)."""
    if settings.place is None:
        return
    for path, pool in ways_to_get_nodes(settings):
        offered = pool.machine.zones_for(pool.provisioning)
        listed, region = zones_of(pool, settings.place), settings.place.region
        zones = tuple(zone for zone in listed or ZONES[region] if zone not in offered)
        # GKE chooses among all zones of a region if the settings list none.
        if offered and (zones if listed else len(zones) == len(ZONES[region])):
            facts = zone_facts(pool.machine, pool.provisioning)
            near = [zone for zone in offered if zone.startswith(f"{region}-")]
            yield Doubt(
                (*path, "zones") if pool.zones else (*path, "machineType"),
                f"{pool.provisioning} {pool.machine_type} was not known in {' or '.join(zones)} on "
                f"{facts.date}, "
                + (f"but in {', '.join(near)}" if near else f"nor elsewhere in {region}")
                + "; `zones` of muster:machineTypes can correct this fact",
                facts.source,
            )


@doubt("cluster")
def channel_may_lack_the_version(settings: Settings) -> Iterator[Doubt]:
    """A release channel offers some minor versions only, and a new cluster can have no other (GKE, release
    notes)."""
    cluster, facts = settings.cluster, table("channels")
    if not isinstance(cluster, Gke):
        return
    oldest, newest = (GkeVersion.parse(version) for version in facts.facts[cluster.channel])
    version = GkeVersion.parse(cluster.version)
    if not oldest[:2] <= version[:2] <= newest[:2]:
        path: Path = ("muster:cluster", "channel" if version[:2] > newest[:2] else "version")
        yield Doubt(
            path,
            f"channel {cluster.channel} offered {oldest} to {newest} on {facts.date}, not {cluster.version}: "
            "GKE may refuse to create the cluster; choose another channel or version",
            facts.source,
        )
