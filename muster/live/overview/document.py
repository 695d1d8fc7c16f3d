"""Converts values to JSON: camelCase keys, times in RFC 3339, quantities in Kubernetes' format."""

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from muster.admission import quantities
from muster.objects.meta import rfc3339

TIME_SUFFIX = "_ms"


class Amounts(dict[str, int]):
    """Amounts by resource, in the core's units."""

    @property
    def texts(self) -> dict[str, str]:
        """The amounts as Kubernetes quantities, by resource."""
        return {resource: quantities.format(resource, amount) for resource, amount in sorted(self.items())}


def document(value: Any) -> Any:
    """Returns a value that JSON can encode. A field `x_ms` becomes the time `x`; fields that a dataclass
    lists in QUANTITIES are amounts of its `resource`."""
    if is_dataclass(value) and not isinstance(value, type):
        return {_name(field.name): _field(value, field.name) for field in fields(value)}
    if isinstance(value, Amounts):
        return value.texts
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {key: document(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [document(item) for item in value]
    return value


def _field(value: Any, name: str) -> Any:
    item = getattr(value, name)
    if name.endswith(TIME_SUFFIX):
        return None if item is None else rfc3339(item)
    if name in getattr(value, "QUANTITIES", ()):
        return quantities.format(value.resource, item)
    return document(item)


def _name(name: str) -> str:
    first, *words = name.removesuffix(TIME_SUFFIX).split("_")
    return first + "".join(word.capitalize() for word in words)
