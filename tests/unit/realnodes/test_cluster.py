"""Control groups and interfaces of a sandbox: `down` removes none of another sandbox."""

from pathlib import Path

import psutil
import pytest

from sandbox.cluster.processes import Processes
from sandbox.realnodes import cgroups
from sandbox.realnodes.cluster import NODES_FOLDER, control_group, interfaces, remove_leftovers
from tools.toolchain.paths import RunState
from tools.toolchain.steps import StepError


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    """A folder that looks like control groups v2."""
    folder = tmp_path / "cgroup"
    folder.mkdir()
    (folder / "cgroup.controllers").write_text("cpu memory pids")
    return folder


def with_node(state: RunState, groups: Path) -> RunState:
    (state.root / NODES_FOLDER).mkdir(parents=True)
    (groups / control_group(state, "gke-system-0")).mkdir()
    return state


@pytest.mark.parametrize(
    ("own", "other"),
    [
        pytest.param(("local", "a"), ("local-two", "a"), id="a name that begins with another"),
        pytest.param(("local", "a"), ("local", "b"), id="the same name in another checkout"),
    ],
)
def test_only_own_groups_are_removed(
    own: tuple[str, str], other: tuple[str, str], tmp_path: Path, groups: Path
) -> None:
    mine, theirs = (with_node(RunState(name, tmp_path / checkout), groups) for name, checkout in (own, other))
    remove_leftovers(mine, groups=groups)
    assert cgroups.names("", groups) == {control_group(theirs, "gke-system-0")}


def test_without_real_nodes_the_machine_needs_no_control_groups(tmp_path: Path) -> None:
    remove_leftovers(RunState("mine", tmp_path), groups=tmp_path / "missing")


def test_a_group_in_use_is_named(tmp_path: Path, groups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "END_SECONDS_MAX", 0.0)
    state = with_node(RunState("mine", tmp_path), groups)
    (groups / control_group(state, "gke-system-0") / "cgroup.procs").touch()  # rmdir fails, as if in use
    with pytest.raises(StepError, match=r"muster_\w+_gke-system-0 cannot be removed"):
        remove_leftovers(state, groups=groups)


@pytest.mark.parametrize(
    ("argv", "names"),
    [
        pytest.param(["python", "-m", "sandbox.realnodes.switch", "7"], ["muster7"], id="switch"),
        pytest.param(
            ["unshare", "--net", "--", "python", "-m", "sandbox.realnodes.switch", "7"],
            ["muster7"],
            id="switch before its exec",
        ),
        pytest.param(["python", "-m", "sandbox.realnodes.forwarder", "7"], [], id="another process"),
        pytest.param(["ip"], [], id="a short command"),
        pytest.param([], [], id="a process that has ended"),
    ],
)
def test_interfaces_are_those_of_the_switch(
    argv: list[str], names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = psutil.Process()
    monkeypatch.setattr(process, "cmdline", lambda: argv)
    monkeypatch.setattr(Processes, "marked", lambda self, name: [process] if name == "switch" else [])
    assert interfaces(RunState("mine", tmp_path)) == names
