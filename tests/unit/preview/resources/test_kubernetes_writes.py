"""Waits of the Kubernetes stand-in."""

from typing import Any

import pytest

from preview.resources.kubernetes_writes import is_established

CONDITION = {"type": "Established", "status": "True"}
DEFINITIONS: dict[str, tuple[dict[str, Any], bool]] = {
    "just stored": ({}, False),
    "not yet processed by its controller": ({"status": {"conditions": None}}, False),
    "names accepted only": ({"status": {"conditions": [{"type": "NamesAccepted", "status": "True"}]}}, False),
    "not established yet": ({"status": {"conditions": [{**CONDITION, "status": "False"}]}}, False),
    "served": ({"status": {"conditions": [CONDITION]}}, True),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_crd_is_established_by_its_condition(name: str) -> None:
    definition, expected = DEFINITIONS[name]
    assert is_established(definition) is expected
