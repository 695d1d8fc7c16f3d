"""Checks inputs against the properties that a provider's Python SDK has for each resource.

They are parsed from the SDK's source: importing pulumi_gcp.compute takes five seconds, parsing one resource
milliseconds. Neither mypy nor the SDK checks dictionaries in inputs; this check refuses a misspelled key in
them, as the official plugin would. Not checked: required properties, which the SDK checks, and values of
union types.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path as FilePath
from typing import Any

from preview.plugins.problems import (
    PRIMITIVES,
    PropertyProblem,
    concealing,
    expected,
    fits,
    shown,
    unknown_property,
)
from preview.resources.differences import Path
from preview.resources.values import UNKNOWN, Secret

_WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NEXT_CLASS = re.compile(r"\n(?=@|class )")


@dataclass(frozen=True)
class PropertyType:
    """Type of a property: `kind` is a Python primitive, "list", "map", "message" or "any"; `name` is the
    class of a message."""

    kind: str
    items: "PropertyType | None" = None
    name: str = ""


ANY = PropertyType("any")


class Sdk:
    """One SDK, for example `pulumi_gcp`. Raises ModuleNotFoundError if it is not installed."""

    def __init__(self, package: str) -> None:
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(package)
        self._root = FilePath(spec.origin).parent
        self._source = cache(FilePath.read_text)
        self._message = cache(self._read_message)

    def properties(self, token: str) -> Mapping[str, PropertyType] | None:
        """Returns a type's properties by name, such as of `gcp:compute/network:Network`; None if unknown."""
        kind = token.rpartition(":")[2]
        file = self._folder(token) / f"{_WORD_ENDS.sub('_', kind).lower()}.py"
        return self._message(file, f"{kind}Args") if file.is_file() else None

    def problems(self, token: str, inputs: Mapping[str, Any]) -> Iterator[PropertyProblem]:
        """Yields unknown properties and values of a wrong type; values not known yet are skipped."""
        shapes = self.properties(token)
        if shapes is not None:
            yield from self._in_message(inputs, shapes, self._folder(token) / "_inputs.py", ())

    def _folder(self, token: str) -> FilePath:
        module = token.split(":")[1]
        return self._root if module == "index" else self._root / module.partition("/")[0]

    def _in_message(
        self, value: Mapping[str, Any], shapes: Mapping[str, PropertyType], file: FilePath, at: Path
    ) -> Iterator[PropertyProblem]:
        for key, item in value.items():
            if key in shapes:
                yield from self._in_value(item, shapes[key], file, (*at, key))
            elif not key.startswith("__"):  # those belong to the engine and the provider
                yield unknown_property((*at, key), shapes)

    def _in_value(
        self, value: Any, shape: PropertyType, file: FilePath, at: Path
    ) -> Iterator[PropertyProblem]:
        if value is None or value == UNKNOWN or shape == ANY:
            return
        match value:
            case Secret():
                yield from concealing(self._in_value(value.value, shape, file, at))
            case list() if shape.kind == "list":
                for index, item in enumerate(value):
                    yield from self._in_value(item, shape.items or ANY, file, (*at, index))
            case dict() if shape.kind == "map":
                for key, item in value.items():
                    yield from self._in_value(item, shape.items or ANY, file, (*at, key))
            case dict() if shape.kind == "message":
                yield from self._in_message(value, self._message(file, shape.name), file, at)
            case _ if not fits(value, shape.kind):
                yield PropertyProblem(at, f"expected {expected(shape.kind)}", shown(value))

    def _read_message(self, file: FilePath, name: str) -> Mapping[str, PropertyType]:
        """Returns the properties of an argument class: names and annotations of its getters."""
        text = self._source(file)
        start = text.index(f"\nclass {name}:") + 1
        end = _NEXT_CLASS.search(text, start)
        body = ast.parse(text[start : end.start() if end else None]).body[0]
        assert isinstance(body, ast.ClassDef)
        return {
            pulumi_name: _shape(item.returns)
            for item in body.body
            if isinstance(item, ast.FunctionDef) and (pulumi_name := _pulumi_name(item))
        }


def _pulumi_name(function: ast.FunctionDef) -> str | None:
    """Returns the property of a getter: `@pulumi.getter(name="nodeConfig")`, or the function's name."""
    for decorator in function.decorator_list:
        match decorator:
            case ast.Attribute(attr="getter"):
                return function.name
            case ast.Call(
                func=ast.Attribute(attr="getter"), keywords=[ast.keyword(value=ast.Constant(name))]
            ):
                return str(name)
    return None


def _shape(annotation: ast.expr | None) -> PropertyType:
    """Parses an annotation: `pulumi.Input[Optional[Sequence[pulumi.Input['FilterArgs']]]]` is a list of
    messages."""
    match annotation:
        case ast.Subscript(value=ast.Attribute(attr="Input") | ast.Name(id="Optional"), slice=inner):
            return _shape(inner)
        case ast.Subscript(value=ast.Name(id="Sequence"), slice=inner):
            return PropertyType("list", _shape(inner))
        case ast.Subscript(value=ast.Name(id="Mapping"), slice=ast.Tuple(elts=[_, inner])):
            return PropertyType("map", _shape(inner))
        case ast.Attribute(value=ast.Name(id="_builtins"), attr=kind) if kind in PRIMITIVES:
            return PropertyType(kind)
        case ast.Constant(value=str(name)) if name.isidentifier() and name.endswith("Args"):
            return PropertyType("message", name=name)
    return ANY
