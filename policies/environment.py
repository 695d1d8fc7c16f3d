"""What a stack's environment enforces: `config/<environment>.json`, by the stack's `muster:environment`."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

KEY = "muster:environment"
# Strictest of all: to forget the key must not be a way round the policies.
UNDECLARED = "prod"

_FILES = {path.stem: path for path in Path(__file__).with_name("config").glob("*.json")}


def enforced(stack_config: Mapping[str, str], rules: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return `enforcementLevel` and the other properties of each rule, by its id.

    stack_config: the stack's configuration, values as text. Raises ValueError for an environment that has no
    file, and for a file that names a rule which does not exist: the engine itself takes any id.
    """
    environment = stack_config.get(KEY, UNDECLARED)
    if environment not in _FILES:
        raise ValueError(
            f"{KEY} is {environment!r}, expected one of {', '.join(sorted(_FILES))}: "
            "set it in the stack file, or add policies/config/<environment>.json"
        )
    content: dict[str, Any] = json.loads(_FILES[environment].read_text())
    # The engine takes a policy without a level for one that only advises.
    shared: dict[str, Any] = {"enforcementLevel": content.pop("all")}
    if KEY not in stack_config:
        shared["because"] = f"it is judged as {UNDECLARED}, as the stack declares no {KEY}"
    ids = tuple(rules)
    if unknown := content.keys() - set(ids):
        raise ValueError(f"policies/config/{environment}.json: no rule {', '.join(sorted(unknown))}")
    return {id: {**shared, **content.get(id, {})} for id in ids}
