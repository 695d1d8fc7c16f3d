"""Caches between passes never change their result, also after kills and refused or late writes."""

from collections.abc import Container
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from muster.configuration.configuration import Configuration
from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.cluster.pass_cache import PassCache
from muster.controller.passes.decider import Decider
from muster.controller.passes.pass_plan import PassPlan
from muster.controller.passes.reconcile import reconcile
from muster.controller.process import loop
from tests.simulation.histories.generate import generate
from tests.simulation.histories.play import play
from tests.simulation.histories.stacks import FAULTS, STACKS

LONG = 22  # the seed of a history with many actions


class Twice:
    """Decides every pass with caches, and from scratch."""

    def __init__(self) -> None:
        self.passes = 0

    def __call__(
        self,
        cluster: ClusterState,
        now_ms: int,
        backing_off: Container[str],
        configuration: Configuration,
        decider: Decider,
    ) -> PassPlan:
        kept = reconcile(cluster, now_ms, backing_off, configuration, decider)
        scratch = reconcile(replace(cluster, cache=PassCache()), now_ms, backing_off, configuration)
        assert kept == scratch
        self.passes += 1
        return kept


@pytest.mark.parametrize("faults", FAULTS)
@pytest.mark.parametrize("stack", STACKS)
def test_passes_with_caches_write_the_same_as_from_scratch(
    stack: str, faults: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    twice = Twice()
    monkeypatch.setattr(loop, "reconcile", twice)
    assert play(changed(generate(LONG), stack=stack, faults=faults)) is None
    assert twice.passes > 100
