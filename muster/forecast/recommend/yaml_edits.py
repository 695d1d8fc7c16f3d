"""Edits YAML and preserves all other text: comments, blank lines, quotes, line ends."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from muster.forecast.recommend.errors import RecommendError


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces the characters from `start` to `end` of a text."""

    start: int
    end: int
    text: str


def edited(text: str, config: Mapping[str, Any]) -> str:
    """Returns the YAML of `text` with this `config`, changed in as few places as possible.

    Values may differ, mappings may have new keys or lose some, and a value may become a mapping. Raises:
    RecommendError if the edits would not produce `config`, as with YAML aliases."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    node = _child(root, "config") if isinstance(root, yaml.MappingNode) else None
    if node is None:
        raise RecommendError("the stack file has no key `config`")
    edits = sorted(_edits(text, node, yaml.safe_load(text)["config"], config), key=lambda edit: edit.start)
    result, at = "", 0
    for edit in edits:
        result += text[at : edit.start] + edit.text
        at = max(at, edit.end)
    result += text[at:]
    try:
        read = yaml.safe_load(result)["config"]
    except yaml.YAMLError:
        read = None
    if read != config:
        raise RecommendError(
            "the stack file cannot be changed in place, as its values share text (YAML's & and *); "
            "expected each changed value written out"
        )
    return result


def _edits(text: str, node: yaml.Node, old: Any, new: Any) -> Iterator[Edit]:
    if old == new and type(old) is type(new):
        return
    if isinstance(node, yaml.MappingNode) and isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() - new.keys():
            yield _removed(text, node, key)
        for key, value in new.items():
            child = _child(node, key)
            if child is None:
                yield _added(text, node, key, value)
            else:
                yield from _edits(text, child, old[key], value)
    elif isinstance(node, yaml.SequenceNode) and isinstance(old, list) and isinstance(new, list):
        for child, before, after in zip(node.value, old, new, strict=True):
            yield from _edits(text, child, before, after)
    else:
        yield Edit(node.start_mark.index, node.end_mark.index, _flow(new))


def _child(node: yaml.MappingNode, key: str) -> yaml.Node | None:
    return next((value for name, value in node.value if name.value == key), None)


def _added(text: str, node: yaml.MappingNode, key: str, value: Any) -> Edit:
    """Adds a key: at the end of a mapping in braces, or on its own line after a one-line entry."""
    entry = f"{key}: {_flow(value)}"
    if node.flow_style:
        at = node.value[-1][1].end_mark.index if node.value else node.start_mark.index + 1
        return Edit(at, at, f", {entry}" if node.value else entry)
    indent = " " * node.value[0][0].start_mark.column
    for name, before in node.value:
        if isinstance(before, yaml.ScalarNode) and name.start_mark.line == before.end_mark.line:
            at = text.find("\n", before.end_mark.index)
            at = len(text) if at < 0 else at
            line_end = "\r\n" if text[at - 1 : at + 1] == "\r\n" else "\n"
            at -= len(line_end) - 1
            return Edit(at, at, f"{line_end}{indent}{entry}")
    at = node.value[0][0].start_mark.index
    return Edit(at, at, f"{entry}\n{indent}")


def _removed(text: str, node: yaml.MappingNode, key: str) -> Edit:
    """Removes a key with its value: in braces with a comma, else with its lines."""
    at = next(n for n, (name, _) in enumerate(node.value) if name.value == key)
    start, end = node.value[at][0].start_mark.index, node.value[at][1].end_mark.index
    if at + 1 < len(node.value):
        return Edit(start, node.value[at + 1][0].start_mark.index, "")
    if at and node.flow_style:
        return Edit(node.value[at - 1][1].end_mark.index, end, "")
    return Edit(text.rfind("\n", 0, start) if at else start, end, "")


def _flow(value: Any) -> str:
    """Returns a value on one line."""
    line: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000)
    return line.removesuffix("...\n").strip()
