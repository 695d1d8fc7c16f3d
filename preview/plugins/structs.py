"""Converts property values between Pulumi's protobuf Structs and plain JSON-like Python.

Assets, archives and resource references, which our stacks do not pass to these providers, are not converted.
"""

from collections.abc import Mapping
from typing import Any

from google.protobuf.struct_pb2 import ListValue, Struct, Value  # type: ignore[import-untyped]  # ships no types

from preview.resources.values import SECRET, SIGNATURE, Secret


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
            return Secret(properties["value"]) if properties.get(SIGNATURE) == SECRET else properties
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
            return Value(struct_value=to_struct({SIGNATURE: SECRET, "value": value.value}))
        case Mapping():
            return Value(struct_value=to_struct(value))
        case list():
            return Value(list_value=ListValue(values=[_to_value(item) for item in value]))
    raise TypeError(f"not a property value: {type(value).__name__}")
