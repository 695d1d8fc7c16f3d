"""Property values of resources as plain JSON-like Python, with secrets, and values that are unknown yet.

Secrets are objects with a signature key and become `Secret`; a value that is unknown during a preview is the
string `UNKNOWN`. Both are as in `pulumi.runtime.rpc`,
which takes as long to import as everything else that a plan needs.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = "1b47061264138c4ac30d75fd1eb44270"


@dataclass(frozen=True)
class Secret:
    """A value that the engine encrypts in its state and never prints."""

    value: Any


def from_state(value: Any) -> Any:
    """Converts a value of an exported state. Raises ValueError for a secret that is still encrypted."""
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) == SECRET:
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
    """Returns whether no part of the value is unknown until other resources are created."""
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
