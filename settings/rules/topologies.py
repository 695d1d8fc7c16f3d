"""Rules of the levels by which a pool's nodes are connected."""

from collections.abc import Iterator

from settings.model.stack import Settings
from settings.problems import Finding, Path

HOSTNAME = "kubernetes.io/hostname"
LEVELS_MAX = 16


def levels_are_kueues(settings: Settings) -> Iterator[Finding]:
    """A pool has at most 16 levels, and single nodes only as the last one (Kueue, apis/kueue/v1beta2,
    topology_types.go)."""
    for i, pool in enumerate(settings.pools):
        path: Path = ("muster:pools", i, "topology")
        if len(pool.topology) > LEVELS_MAX:
            yield Finding(path, f"at most {LEVELS_MAX} levels (Kueue, Topology)", "remove some")
        if HOSTNAME in pool.topology[:-1]:
            yield Finding(
                (*path, pool.topology.index(HOSTNAME)),
                "another level: single nodes are below all other levels (Kueue, Topology)",
                "put it at the end",
            )


def levels_are_used(settings: Settings) -> Iterator[Finding]:
    """Levels are of flavors, which engine kai does not have (Kueue: ResourceFlavorSpec.topologyName)."""
    for i, pool in enumerate(settings.pools):
        if pool.topology and settings.admission.engine == "kai":
            yield Finding(
                ("muster:pools", i, "topology"),
                "no levels: with engine kai there are no flavors, whose Topology they are",
                "remove it, or choose engine: muster (or kueue)",
            )
