"""Scenarios on real nodes in addition to the first one, which the sandbox of these tests has played."""

from __future__ import annotations

from sandbox.up_real import ELASTIC, scenarios_on_real_nodes
from tools.toolchain.paths import RunState


def test_a_job_grows_and_returns_workers(state: RunState) -> None:
    scenarios_on_real_nodes(state, [ELASTIC])
