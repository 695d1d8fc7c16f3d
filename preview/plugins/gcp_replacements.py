"""Applies gcp_replace_rules: which changed properties make Google's plugin recreate a resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from preview.plugins.gcp_replace_rules import CONDITIONS, GRANTS, RULES
from preview.resources.differences import Change, Path
from preview.resources.values import UNKNOWN, opened

Names = tuple[str, ...]  # a path without list indexes


def has_rules(token: str) -> bool:
    """Returns whether the type has rules; changes to types without rules count as updates."""
    return token in RULES or token.endswith(GRANTS)


def replacing(
    token: str, old: Mapping[str, Any], new: Mapping[str, Any], changes: Mapping[Path, Change]
) -> frozenset[Path]:
    """Returns the changed paths that cannot be changed in place."""
    if token.endswith(GRANTS):
        return frozenset(changes)
    rules = [(tuple(rule.removesuffix("#").split(".")), rule.endswith("#")) for rule in RULES.get(token, ())]
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
    path: Path, change: Change, rule: Names, whole: bool, sides: tuple[Mapping[str, Any], Mapping[str, Any]]
) -> bool:
    """Returns whether the change is at or below the rule's property, or adds or removes an enclosing value.

    whole: the rule applies only to adding or removing the property.
    """
    names = tuple(step for step in path if isinstance(step, str))
    if names[: len(rule)] == rule and not whole:
        return True
    if change is Change.UPDATE or rule[: len(names)] != names:
        return False
    value: Any = opened(sides[change is Change.ADD])
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
