"""Values as JSON: camelCase keys, times in RFC 3339, quantities as Kubernetes writes them."""

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
        return {resource: quantities.format(resource, amount) for resource, amount in sorted(self.items())}


def document(value: Any) -> Any:
    """Returns a value for JSON. A field `x_ms` becomes the time `x`. The fields that a dataclass names in
    QUANTITIES are amounts of its `resource`."""
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
    found = getattr(value, name)
    if name.endswith(TIME_SUFFIX):
        return None if found is None else rfc3339(found)
    if name in getattr(value, "QUANTITIES", ()):
        return quantities.format(value.resource, found)
    return document(found)


def _name(name: str) -> str:
    first, *rest = name.removesuffix(TIME_SUFFIX).split("_")
    return first + "".join(word.capitalize() for word in rest)
