"""The table of test layers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.testing import layers
from tools.testing.layers import FAST, LAYERS, LINT, QUICK, Layer
from tools.testing.noxfile import in_random_order
from tools.toolchain.paths import CHECKOUT

SHARED_CLUSTERS = {"stacks": [False, False], "sandbox": [False, False], "nodes": [False]}
"""Whether each command of the layers whose tests share a cluster runs in several processes."""


def test_every_folder_of_tests_is_a_layer() -> None:
    tests = CHECKOUT / "tests"
    folders = {path.relative_to(tests).parts[0] for path in tests.rglob("test_*.py")}
    assert folders == {layer.key for layer in LAYERS} - {"lint"}


def test_a_layer_that_takes_minutes_runs_only_if_it_is_selected() -> None:
    assert {layer.key for layer in LAYERS if layer.on_demand} == {"ray"}


def test_tests_that_take_minutes_run_only_if_their_layer_is_selected() -> None:
    more = {
        layer.key: (layer.commands, layer.selected_commands) for layer in LAYERS if layer.selected_commands
    }
    assert more.keys() == {"nodes"}
    ((fewer,), (all_of_them,)) = more["nodes"]
    assert (fewer[-1], all_of_them[-1]) == ("tests/nodes/test_real_nodes.py", "tests/nodes")


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.key)
def test_only_a_whole_run_by_hand_is_quick(layer: Layer, monkeypatch: pytest.MonkeyPatch) -> None:
    def quick(*, thorough: bool, selected: bool) -> set[bool]:
        monkeypatch.setattr(layers, "THOROUGH", thorough)
        commands = layer.run_commands(selected=selected)
        return {QUICK in command for command in commands if "pytest" in command}

    of_pytest = layer is not LINT
    assert quick(thorough=False, selected=False) == ({True} if of_pytest else set())
    assert quick(thorough=False, selected=True) == ({False} if of_pytest else set())
    assert quick(thorough=True, selected=False) == ({False} if of_pytest else set())


def test_quick_runs_skip_thorough_tests() -> None:
    file = "tests/unit/tools/testing/test_run.py"  # with the mark
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", QUICK, file], cwd=CHECKOUT, capture_output=True, text=True
    )
    assert re.fullmatch(r"\d+ skipped in .*", run.stdout.splitlines()[-1]), run.stdout


def test_every_folder_of_the_fast_tests_exists() -> None:
    assert [name for name in FAST if not Path(CHECKOUT, "tests", "unit", name).is_dir()] == []


@pytest.mark.parametrize(
    "layer", [layer for layer in LAYERS if layer is not LINT], ids=lambda layer: layer.key
)
def test_a_random_order_starts_no_further_clusters(layer: Layer) -> None:
    commands = in_random_order(layer, 7)
    assert all("--randomly-seed=7" in command and "pytest" in command for command in commands)
    processes = [any("--numprocesses" in argument for argument in command) for command in commands]
    assert processes == SHARED_CLUSTERS.get(layer.key, [True])
