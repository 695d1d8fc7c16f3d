"""Converts property values between Pulumi's protobuf Structs and plain JSON-like Python.

Secrets are objects with a signature key and become `Secret`; a value that is unknown during a preview is the
string `UNKNOWN` (both from `pulumi.runtime.rpc`). Assets, archives and resource references, which our stacks
do not pass to these providers, are not converted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.struct_pb2 import ListValue, Struct, Value  # type: ignore[import-untyped]  # ships no types
from pulumi.runtime import rpc

UNKNOWN: str = rpc.UNKNOWN
_SIGNATURE: str = rpc._special_sig_key
_SECRET: str = rpc._special_secret_sig


@dataclass(frozen=True)
class Secret:
    """A value that the engine encrypts in its state and never prints."""

    value: Any


def from_struct(struct: Struct) -> dict[str, Any]:
    """Converts a Struct to Python. Whole numbers become int: the API server refuses 1.0 for an integer."""
    return {key: _from_value(value) for key, value in struct.fields.items()}


def _from_value(value: Value) -> Any:
    match value.WhichOneof("kind"):
        case "number_value":
            number = value.number_value
            return int(number) if number.is_integer() else number
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case "list_value":
            return [_from_value(item) for item in value.list_value.values]
        case "struct_value":
            properties = from_struct(value.struct_value)
            return Secret(properties["value"]) if properties.get(_SIGNATURE) == _SECRET else properties
        case _:
            return None


def to_struct(properties: Mapping[str, Any]) -> Struct:
    """Converts Python to a Struct, the inverse of `from_struct`."""
    return Struct(fields={key: _to_value(value) for key, value in properties.items()})


def _to_value(value: Any) -> Value:
    match value:
        case None:
            return Value(null_value="NULL_VALUE")
        case bool():
            return Value(bool_value=value)
        case int() | float():
            return Value(number_value=value)
        case str():
            return Value(string_value=value)
        case Secret():
            return Value(struct_value=to_struct({_SIGNATURE: _SECRET, "value": value.value}))
        case Mapping():
            return Value(struct_value=to_struct(value))
        case list():
            return Value(list_value=ListValue(values=[_to_value(item) for item in value]))
    raise TypeError(f"not a property value: {type(value).__name__}")


def from_state(value: Any) -> Any:
    """Converts a value of an exported state. Raises ValueError for a secret that is still encrypted."""
    if isinstance(value, Mapping):
        if value.get(_SIGNATURE) == _SECRET:
            if "plaintext" not in value:
                raise ValueError("the secrets of the exported state are encrypted")
            return Secret(json.loads(value["plaintext"]))
        return {key: from_state(item) for key, item in value.items()}
    return [from_state(item) for item in value] if isinstance(value, list) else value


def opened(value: Any) -> Any:
    """Returns the value with its secrets in plain text, for API requests. It must not be logged."""
    match value:
        case Secret():
            return opened(value.value)
        case Mapping():
            return {key: opened(item) for key, item in value.items()}
        case list():
            return [opened(item) for item in value]
    return value


def is_known(value: Any) -> bool:
    """Whether no part of the value is unknown until other resources are created."""
    match value:
        case Secret():
            return is_known(value.value)
        case Mapping():
            return all(is_known(item) for item in value.values())
        case list():
            return all(is_known(item) for item in value)
    return bool(value != UNKNOWN)


def concealed(value: Any, like: Any) -> Any:
    """Returns `value`, with parts marked secret that are secret at the same path in `like`."""
    if isinstance(like, Secret):
        return Secret(value)
    if isinstance(value, Mapping) and isinstance(like, Mapping):
        return {key: concealed(item, like.get(key)) for key, item in value.items()}
    if isinstance(value, list) and isinstance(like, list):
        pairs = zip(value, like + [None] * len(value), strict=False)
        return [concealed(item, pattern) for item, pattern in pairs]
    return value
