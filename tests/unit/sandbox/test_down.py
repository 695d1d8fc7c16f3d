"""`make down`: which sandboxes there are to stop."""

from pathlib import Path

import pytest

from sandbox.running import existing_names
from sandbox.toolchain.paths import RunState
from sandbox.toolchain.steps import StepError
from sandbox.up import down


def brought_up(name: str, checkout: Path) -> RunState:
    state = RunState(name, checkout)
    state.make()
    return state


def test_a_name_that_no_sandbox_has_is_refused_with_those_there_are(tmp_path: Path) -> None:
    for name in ("local", "mine"):
        brought_up(name, tmp_path)
    RunState("preview", tmp_path).logs.mkdir(parents=True)  # what `make preview` keeps is no sandbox
    with pytest.raises(StepError, match=r"no sandbox 'typo' in .*; there are local, mine") as refused:
        down(RunState("typo", tmp_path))
    assert refused.value.try_this == "make down"
    assert not list((tmp_path / ".muster").glob("typo*"))


def test_where_there_is_none_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(StepError, match=r"no sandbox 'local' in .*; there is none"):
        down(RunState("local", tmp_path))


def test_one_that_was_stopped_can_be_stopped_again(tmp_path: Path) -> None:
    state = brought_up("local", tmp_path)
    state.timings.write_text("{}")
    for _ in range(2):
        down(state)
        assert not state.processes.exists()
        assert existing_names(tmp_path) == ["local"]
