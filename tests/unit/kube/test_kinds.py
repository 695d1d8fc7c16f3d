"""Kinds: how they are declared to lightkube."""

from typing import Any

import pytest
from lightkube.core import resource_registry

from muster.kube import kinds
from muster.kube.kinds import Kind

CORE: tuple[Kind[Any], ...] = (kinds.PODS, kinds.POD_TEMPLATES, kinds.NAMESPACES, kinds.EVENTS)


@pytest.mark.parametrize("kind", CORE, ids=str)
def test_core_kinds_are_left_to_others_in_the_process(kind: Kind[Any]) -> None:
    """lightkube refuses whoever registers one after us."""
    assert resource_registry.resource_registry.get("v1", kind.name) is not kind.body


def test_the_status_of_a_kind_is_another_address() -> None:
    assert kinds.WORKLOADS.body.Status._api_info.action == "status"
