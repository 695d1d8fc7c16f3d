"""Reads the enforcement levels of a stack's `muster:environment` from `config/<environment>.json`."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

KEY = "muster:environment"
# The strictest: omitting the key must not bypass the policies.
UNDECLARED = "prod"

_FILES = {path.stem: path for path in Path(__file__).with_name("config").glob("*.json")}


def enforced(stack_config: Mapping[str, str], rules: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Returns `enforcementLevel` and the other properties of each rule, by its id.

    stack_config: the stack's configuration, values as text. Raises ValueError for an environment without a
    file, and for a file that names an unknown rule: the engine itself accepts any id.
    """
    environment = stack_config.get(KEY, UNDECLARED)
    if environment not in _FILES:
        raise ValueError(
            f"{KEY} is {environment!r}, expected one of {', '.join(sorted(_FILES))}: "
            "set it in the stack file, or add policies/config/<environment>.json"
        )
    content: dict[str, Any] = json.loads(_FILES[environment].read_text())
    # The engine treats a policy without a level as advisory.
    shared: dict[str, Any] = {"enforcementLevel": content.pop("all"), "environment": environment}
    if KEY not in stack_config:
        shared["because"] = f"checked as {UNDECLARED}, as the stack declares no {KEY}"
    ids = tuple(rules)
    if unknown := content.keys() - set(ids):
        raise ValueError(f"policies/config/{environment}.json: no rule {', '.join(sorted(unknown))}")
    return {id: {**shared, **content.get(id, {})} for id in ids}
