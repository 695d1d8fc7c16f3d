"""The table of test layers."""

from pathlib import Path

import pytest

from tools.testing.layers import FAST, LAYERS, LINT, Layer
from tools.testing.noxfile import in_random_order
from tools.toolchain.paths import CHECKOUT


def test_every_folder_of_tests_is_a_layer() -> None:
    tests = CHECKOUT / "tests"
    folders = {path.relative_to(tests).parts[0] for path in tests.rglob("test_*.py")}
    assert folders == {layer.key for layer in LAYERS} - {"lint"}


def test_a_layer_that_takes_minutes_runs_only_if_it_is_selected() -> None:
    assert {layer.key for layer in LAYERS if layer.on_demand} == {"nodes", "ray"}


def test_every_folder_of_the_fast_tests_exists() -> None:
    assert [name for name in FAST if not Path(CHECKOUT, "tests", "unit", name).is_dir()] == []


@pytest.mark.parametrize(
    "layer", [layer for layer in LAYERS if layer is not LINT], ids=lambda layer: layer.key
)
def test_a_random_order_starts_no_further_clusters(layer: Layer) -> None:
    commands = in_random_order(layer, 7)
    assert all("--randomly-seed=7" in command and "pytest" in command for command in commands)
    processes = [any("--numprocesses" in argument for argument in command) for command in commands]
    assert processes == ([False, False] if layer.key in ("stacks", "sandbox") else [True])
