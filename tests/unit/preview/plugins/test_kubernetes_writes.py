"""What the Kubernetes stand-in waits for."""

from typing import Any

import pytest

from preview.plugins.kubernetes_writes import is_established

CONDITION = {"type": "Established", "status": "True"}
DEFINITIONS: dict[str, tuple[dict[str, Any], bool]] = {
    "just stored": ({}, False),
    "not yet seen by its controller": ({"status": {"conditions": None}}, False),
    "names accepted only": ({"status": {"conditions": [{"type": "NamesAccepted", "status": "True"}]}}, False),
    "on its way": ({"status": {"conditions": [{**CONDITION, "status": "False"}]}}, False),
    "served": ({"status": {"conditions": [CONDITION]}}, True),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_established(name: str) -> None:
    definition, wanted = DEFINITIONS[name]
    assert is_established(definition) is wanted
