"""Decides which changed properties make Google's plugin recreate a resource.

gcp_replacements.json lists the properties for the locked version of pulumi-gcp, and names their source.
`make lock` takes them from the provider's schema (`willReplaceOnChanges`) when that version changes. This
module adds properties that no schema marks. Known difference: removing a property that Google computes
changes nothing with the official plugin, but is a replacement here.
"""

import json
from collections.abc import Callable, Mapping
from ipaddress import ip_network
from pathlib import Path as FilePath
from typing import Any

from preview.resources.differences import ChangeKind, Path
from preview.resources.values import UNKNOWN, opened

Names = tuple[str, ...]  # a path without list indexes

FILE = FilePath(__file__).with_suffix(".json")
REPLACES: Mapping[str, list[str]] = json.loads(FILE.read_text())["replaces"]
"""Properties by type. A name covers the property and all below it; with `#` only adding or removing it as a
whole."""
UNMARKED: Mapping[str, list[str]] = {
    "gcp:compute/resourcePolicy:ResourcePolicy": ["name"],
    "gcp:container/cluster:Cluster": ["nodePools.placementPolicy"],
    "gcp:container/nodePool:NodePool": ["placementPolicy"],
}
"""Properties that the schema does not mark, although Google has no call to change them."""
# A grant is one role of one member: any change makes another grant.
GRANTS = ("IAMMember", "IamMember")


def _switched_off(old: Any, new: Any) -> bool:
    return old is True and new is not True


def _takes_one_away(old: Any, new: Any) -> bool:
    return not set(old or ()) <= set(new or ())


def _shrinks(old: Any, new: Any) -> bool:
    """Returns whether a range loses addresses; a subnet can only be expanded."""
    return bool(old and new) and not ip_network(old).subnet_of(ip_network(new))  # type: ignore[arg-type]


CONDITIONS: Mapping[str, Mapping[str, Callable[[Any, Any], bool]]] = {
    "gcp:compute/subnetwork:Subnetwork": {"ipCidrRange": _shrinks},
    "gcp:container/cluster:Cluster": {
        "enableFqdnNetworkPolicy": _switched_off,
        "enableK8sBetaApis.enabledApis": _takes_one_away,
        "enableL4IlbSubsetting": _switched_off,
    },
    "gcp:storage/bucket:Bucket": {"retentionPolicy.isLocked": _switched_off},
}
"""Properties that force a replacement only for some changes of their value."""


def has_rules(token: str) -> bool:
    """Returns whether the type has rules; changes to types without rules count as updates."""
    return token in REPLACES or token.endswith(GRANTS)


def replacing(
    token: str, old: Mapping[str, Any], new: Mapping[str, Any], changes: Mapping[Path, ChangeKind]
) -> frozenset[Path]:
    """Returns the changed paths that cannot be changed in place."""
    if token.endswith(GRANTS):
        return frozenset(changes)
    properties = (*REPLACES.get(token, ()), *UNMARKED.get(token, ()))
    rules = [(tuple(name.removesuffix("#").split(".")), name.endswith("#")) for name in properties]
    for name, forces in CONDITIONS.get(token, {}).items():
        place = tuple(name.split("."))
        before, after = _at(opened(old), place), _at(opened(new), place)
        if UNKNOWN not in (before, after) and forces(before, after):
            rules.append((place, False))
    return frozenset(
        path
        for path, change in changes.items()
        if any(_matches(path, change, rule, whole, (old, new)) for rule, whole in rules)
    )


def _matches(
    path: Path,
    change: ChangeKind,
    rule: Names,
    whole: bool,
    sides: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> bool:
    """Returns whether the change is at or below the rule's property, or adds or removes an enclosing value.

    whole: the rule applies only to adding or removing the property.
    """
    names = tuple(step for step in path if isinstance(step, str))
    if names[: len(rule)] == rule and not whole:
        return True
    if change is ChangeKind.UPDATE or rule[: len(names)] != names:
        return False
    value: Any = opened(sides[change is ChangeKind.ADD])
    for step in path:
        value = value[step]
    return _holds(value, rule[len(names) :])


def _holds(value: Any, names: Names) -> bool:
    """Returns whether there is a value at that path; in a list, in any entry."""
    if isinstance(value, list) and names:
        return any(_holds(item, names) for item in value)
    if not names:
        return value is not None
    return isinstance(value, Mapping) and _holds(value.get(names[0]), names[1:])


def _at(value: Any, names: Names) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def delete_first(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Returns whether both have the same name, so that the old resource must be deleted first."""
    return old.get("name") is not None and opened(old.get("name")) == opened(new.get("name"))
