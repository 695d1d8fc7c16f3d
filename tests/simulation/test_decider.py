"""Values kept from pass to pass never change the result, also after kills and refused or late writes."""

import pytest
from msgspec.structs import replace as changed

from tests.simulation.full_passes import compared
from tests.simulation.histories.generate import generate
from tests.simulation.histories.play import play
from tests.simulation.histories.stacks import FAULTS, STACKS

LONG = 91  # the seed of a history with many actions and one replica


@pytest.mark.parametrize("faults", FAULTS)
@pytest.mark.parametrize("stack", STACKS)
def test_passes_over_what_changed_write_the_same_as_full_ones(stack: str, faults: str) -> None:
    with compared() as twice:
        assert play(changed(generate(LONG), stack=stack, faults=faults)) is None
    assert twice.passes > 100
