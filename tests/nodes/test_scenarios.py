"""Scenarios on real nodes in addition to the first one, which the sandbox of these tests has played."""

from __future__ import annotations

import pytest

from sandbox.up_real import ELASTIC, RESIZE, scenarios_on_real_nodes
from tools.toolchain.paths import RunState


@pytest.mark.parametrize("name", [ELASTIC, RESIZE])
def test_a_scenario_happens_in_its_order(name: str, state: RunState) -> None:
    scenarios_on_real_nodes(state, name)
