"""`make down`: the sandboxes that it can stop."""

from pathlib import Path

import pytest

from sandbox.running import existing_names
from sandbox.up import down
from tools.toolchain.paths import RunState
from tools.toolchain.steps import StepError


def brought_up(name: str, checkout: Path) -> RunState:
    state = RunState(name, checkout)
    state.make()
    return state


def test_an_unknown_name_is_refused_with_a_list_of_sandboxes(tmp_path: Path) -> None:
    for name in ("local", "mine"):
        brought_up(name, tmp_path)
    RunState("preview", tmp_path).logs.mkdir(parents=True)  # the files of `make preview` are no sandbox
    with pytest.raises(StepError, match=r"no sandbox 'typo' in .*; existing: local, mine") as refused:
        down(RunState("typo", tmp_path))
    assert refused.value.try_this == "make down"
    assert not list((tmp_path / ".muster").glob("typo*"))


def test_the_refusal_says_if_there_is_no_sandbox(tmp_path: Path) -> None:
    with pytest.raises(StepError, match=r"no sandbox 'local' in .*; there are no sandboxes"):
        down(RunState("local", tmp_path))


def test_a_stopped_sandbox_can_be_stopped_again(tmp_path: Path) -> None:
    state = brought_up("local", tmp_path)
    state.timings.write_text("{}")
    for _ in range(2):
        down(state)
        assert not state.processes.exists()
        assert existing_names(tmp_path) == ["local"]
