"""Reads YAML of stack files as Pulumi's engine does (gopkg.in/yaml.v3), which differs from PyYAML's YAML 1.1.

`yes`, `no`, `on` and `off` are texts, `12:30` is a text and not a number base 60, and `0o17` and `1e3` are
numbers. tests/stacks/test_stack_file_yaml.py compares the results with the engine's.
"""

import re
from collections.abc import Hashable
from datetime import UTC, datetime
from typing import Any

import yaml

TAG = "tag:yaml.org,2002:"
NULLS, TRUE, FALSE = ("", "~", "null", "Null", "NULL"), ("true", "True", "TRUE"), ("false", "False", "FALSE")
# Octal numbers have a leading 0 (as in YAML 1.1) or 0o (as in YAML 1.2).
INTEGER = re.compile(
    r"[-+]?(?:0[bB](?P<b>[01]+)|0[oO](?P<o>[0-7]+)|0[xX](?P<x>[0-9a-fA-F]+)|0(?P<c>[0-7]+)|(?P<d>0|[1-9][0-9]*))"
)
BASES = {"b": 2, "o": 8, "x": 16, "c": 8, "d": 10}
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
TIME = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{1,2}-[0-9]{1,2})"
    r"(?:(?:[Tt](?P<time>[0-9:]+(?:\.[0-9]+)?)(?P<zone>Z|[-+][0-9:]+))|(?: (?P<local>[0-9:]+(?:\.[0-9]+)?)))?"
)
LARGEST = 2**63
# Numbers from here on are written with an exponent (encoding/json).
EXPONENT_FROM = 1e21


def number(text: str) -> int | float | None:
    """Returns the number that a plain scalar is; None if it is none."""
    if not text or text[0] not in "0123456789+-.":
        return None
    digits = text.replace("_", "")
    if match := INTEGER.fullmatch(digits):
        base = next(name for name, value in match.groupdict().items() if value is not None)
        value = int(match[base], BASES[base]) * (-1 if digits[0] == "-" else 1)
        if abs(value) < LARGEST:
            return value
    if not FLOAT.fullmatch(digits):
        return None
    real = float(digits)
    return int(real) if real.is_integer() and abs(real) < EXPONENT_FROM else real


def timestamp(text: str) -> str | None:
    """Returns the text that the engine makes of a time without quotes, in UTC; None if it is no time."""
    if not (match := TIME.fullmatch(text)):
        return None
    year, month, day = map(int, match["day"].split("-"))
    try:
        time = datetime.strptime((match["time"] or match["local"] or "0:0:0").partition(".")[0], "%H:%M:%S")
        instant = datetime(year, month, day, time.hour, time.minute, time.second, tzinfo=UTC)
    except ValueError:
        return None
    return f"{instant:%Y-%m-%d %H:%M:%S} +0000 UTC" if match["zone"] in (None, "Z") else text


class StackFileLoader(yaml.SafeLoader):
    """Raises a YAMLError for a key that a mapping has twice, of which YAML libraries keep the last one."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """Returns the tag of a node; that of a plain scalar is the engine's."""
        if kind is not yaml.ScalarNode or not implicit[0]:
            return super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]
        if value in NULLS:
            return f"{TAG}null"
        if value in (*TRUE, *FALSE):
            return f"{TAG}bool"
        if value == "<<":
            return f"{TAG}merge"
        if (read := number(value)) is not None:
            return f"{TAG}{'int' if isinstance(read, int) else 'float'}"
        return f"{TAG}timestamp" if timestamp(value) is not None else f"{TAG}str"

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        """Returns the mapping with its keys as text: `on` and `1` are names, as all keys are."""
        names = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _error("a key is not plain text", key)
            name = _key(key)
            if name in names:
                raise _error(f"the key {name!r} occurs twice", key)
            names.add(name)
        self.flatten_mapping(node)  # of `<<: *alias`, whose keys may occur again
        return {_key(key): self.construct_object(value, deep=deep) for key, value in node.value}


def _key(node: yaml.ScalarNode) -> str:
    """Returns a key as the engine writes it: `0777` is 511."""
    text = str(node.value)
    value = number(text) if node.tag in (f"{TAG}int", f"{TAG}float") else None
    return text if value is None else str(value)


def _number(_loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int | float:
    if (value := number(node.value)) is None:
        raise _error(f"{node.value!r} is no number", node)
    return value


def _timestamp(_loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    return timestamp(node.value) or str(node.value)


def _plain_text(_loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    return str(node.value)


StackFileLoader.add_constructor(f"{TAG}int", _number)
StackFileLoader.add_constructor(f"{TAG}float", _number)
StackFileLoader.add_constructor(f"{TAG}timestamp", _timestamp)
StackFileLoader.add_constructor(f"{TAG}merge", _plain_text)


def _error(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
