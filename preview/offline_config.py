"""Stack files without what only the stack's key or Pulumi Cloud can open."""

import json
from collections.abc import Mapping
from typing import Any

import yaml

from settings.credentials import MASKED, is_encrypted
from settings.stack_file_yaml import StackFileLoader

ENVIRONMENT = "environment"


def offline(text: str) -> str:
    """Returns a stack file whose encrypted values are "[secret]", and that names no ESC environments.

    A file without such values is unchanged, byte by byte.
    """
    try:
        content = yaml.load(text, Loader=StackFileLoader)
    except (yaml.YAMLError, ValueError):  # the engine reports it
        return text
    if not isinstance(content, dict):
        return text
    opened = {key: _masked(value) for key, value in content.items() if key != ENVIRONMENT}
    # JSON is YAML in which the engine takes no text for a number.
    return text if opened == content else json.dumps(opened, indent=2)


def _masked(value: Any) -> Any:
    if is_encrypted(value):
        return MASKED
    if isinstance(value, Mapping):
        return {key: _masked(inner) for key, inner in value.items()}
    return [_masked(inner) for inner in value] if isinstance(value, list) else value
