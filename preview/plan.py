"""Reads a plan, or what the engine did, from its event log: one change per resource."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from preview.engine_events import Event
from preview.resources.differences import differences, property_path

STACK = "pulumi:pulumi:Stack"


@dataclass(frozen=True)
class ChangedProperty:
    """One changed property: its path in Pulumi's notation, and its values, None if it is not set."""

    path: str
    before: Any
    after: Any
    replaces: bool


@dataclass(frozen=True)
class ResourceChange:
    """Change of one resource. `op` is the engine's: create, update, replace, delete, same or read.

    before, after: its inputs, with secrets masked; empty if the resource does not exist.
    replacing: the properties that make the provider recreate it.
    custom: whether a provider manages it; components are not managed by one.
    note: a remark for its line.
    """

    op: str
    type: str
    urn: str
    parent: str = ""
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    replacing: frozenset[str] = frozenset()
    protect: bool = False
    custom: bool = True
    note: str = ""

    @property
    def name(self) -> str:
        """The name of the resource in the program."""
        return self.urn.rpartition("::")[2]

    @property
    def differences(self) -> list[ChangedProperty]:
        """Changed inputs, including properties in which only a masked secret changes."""
        visible = [
            ChangedProperty(text, _at(self.before, path), _at(self.after, path), self._replaces(text))
            for path, _ in differences(self.before, self.after)
            for text in [property_path(path)]
        ]
        paths = {difference.path for difference in visible}
        hidden = [path for path in sorted(self.replacing) if not any(_related(path, p) for p in paths)]
        return visible + [ChangedProperty(path, None, None, replaces=True) for path in hidden]

    def _replaces(self, path: str) -> bool:
        return any(_related(path, forcing) for forcing in self.replacing)


def read_changes(events: Iterable[Event]) -> tuple[ResourceChange, ...]:
    """Returns one change per resource, in the engine's order; a replacement's three steps are one change."""
    steps: dict[str, Mapping[str, Any]] = {}
    for event in events:
        if step := event.get("resourcePreEvent", {}).get("metadata"):
            if step["op"] == "refresh":  # only reads the resource; a later step has the change
                continue
            earlier = steps.get(step["urn"])
            # A replacement has three steps; only `replace` has both old and new inputs.
            if earlier is None or step["op"] == "replace":
                steps[step["urn"]] = step
    return tuple(_change(step) for step in steps.values())


def _change(step: Mapping[str, Any]) -> ResourceChange:
    old, new = step.get("old") or {}, step.get("new") or {}
    detailed = step.get("detailedDiff") or {}
    replacing = {path for path, diff in detailed.items() if diff["diffKind"].endswith("-replace")}
    return ResourceChange(
        op="replace" if "replace" in step["op"] else step["op"],
        type=step["type"],
        urn=step["urn"],
        parent=(new or old).get("parent", ""),
        before=old.get("inputs") or {},
        after=new.get("inputs") or {},
        replacing=frozenset(replacing | set(step.get("keys") or ())),
        protect=bool((new or old).get("protect")),
        custom=bool((new or old).get("custom", True)),
    )


def _at(value: Any, path: Iterable[str | int]) -> Any:
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _related(path: str, other: str) -> bool:
    """Returns whether two property paths are equal, or one is below the other."""
    longer, shorter = (path, other) if len(path) >= len(other) else (other, path)
    return longer == shorter or (longer.startswith(shorter) and longer[len(shorter)] in ".[")
