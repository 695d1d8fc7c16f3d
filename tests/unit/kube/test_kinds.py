"""Kinds: how they are declared to lightkube."""

from typing import Any

import pytest
from lightkube.core import resource_registry

from muster.kube import kinds
from muster.kube.kinds import Kind

CORE: tuple[Kind[Any], ...] = (kinds.PODS, kinds.POD_TEMPLATES, kinds.NAMESPACES, kinds.EVENTS)


@pytest.mark.parametrize("kind", CORE, ids=str)
def test_core_kinds_are_not_registered_with_lightkube(kind: Kind[Any]) -> None:
    """lightkube refuses a second registration, for instance by another library in the process."""
    assert resource_registry.resource_registry.get("v1", kind.name) is not kind.body


def test_a_kinds_status_has_its_own_path() -> None:
    assert kinds.WORKLOADS.body.Status._api_info.action == "status"
