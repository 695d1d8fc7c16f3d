"""Which of a resource's changed properties make Google's plugin recreate it: gcp_replace_rules, applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from preview.plugins.differences import Change, Path
from preview.plugins.gcp_replace_rules import CONDITIONS, GRANTS, RULES
from preview.plugins.values import UNKNOWN, opened

Names = tuple[str, ...]  # a path without the places in lists


def has_rules(token: str) -> bool:
    """Whether anything is known of the type; a change to any other one counts as an update."""
    return token in RULES or token.endswith(GRANTS)


def replacing(
    token: str, old: Mapping[str, Any], new: Mapping[str, Any], changes: Mapping[Path, Change]
) -> frozenset[Path]:
    """The changed paths that cannot be changed in place."""
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
    """Whether the change is at or below what the rule names, or brings or takes it with it.

    whole: the rule is only about being added or taken away.
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
    """Whether something stands at that place, in a list in any of its entries."""
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
    """Whether both would have the same name, so that the old one has to go before the new one is made."""
    return old.get("name") is not None and opened(old.get("name")) == opened(new.get("name"))
