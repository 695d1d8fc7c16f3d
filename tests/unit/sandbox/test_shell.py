"""`make env`: a shell's environment after it evaluated the lines."""

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from sandbox import shell
from sandbox.shell import exports, write_script
from tools.toolchain.paths import RunState

FOLDER = "it's a folder; $HOME"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunState:
    """A sandbox that counts as up, in a folder whose name needs quoting."""
    state = RunState("mine", tmp_path / FOLDER)
    state.make()
    monkeypatch.setattr(shell, "require_up", lambda _state: None)
    monkeypatch.setattr(shell, "make_commands", lambda state: state.root / "bin")
    return state


def evaluated(state: RunState, command: str) -> str:
    script = f"PATH=/usr/bin:/bin\n{exports(state)}\n{command}"
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout


def test_only_exports_are_printed(state: RunState) -> None:
    assert all(line.startswith("export ") for line in exports(state).splitlines())


def test_the_shell_has_the_kubeconfig_and_the_name(state: RunState) -> None:
    output = evaluated(state, 'printf "%s\\n" "$KUBECONFIG" "$MUSTER_NAME"')
    assert output.splitlines() == [str(state.kubeconfig), "mine"]


def test_the_sandboxs_commands_come_first_on_path_and_get_their_arguments(state: RunState) -> None:
    folder = state.root / "bin"
    folder.mkdir()
    write_script(folder / "ls", ["printf", "%s|", "of $WHOSE"], {"WHOSE": "the 'sandbox'"})
    assert evaluated(state, 'ls "a b" c') == "of $WHOSE|a b|c|"
    assert evaluated(state, "cat /dev/null && echo rest") == "rest\n"


def test_a_command_sets_its_variables(tmp_path: Path) -> None:
    write_script(tmp_path / "say", ["sh", "-c", 'echo "$WHOSE"'], {"WHOSE": "the 'sandbox' $HOME"})
    done = subprocess.run([tmp_path / "say"], capture_output=True, text=True, check=True)
    assert done.stdout == "the 'sandbox' $HOME\n"


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["muster", "kubectl-muster"])
def test_muster_is_the_packages_command_in_every_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = {tool: SimpleNamespace(path=tmp_path / tool) for tool in ("kubectl", "pulumi")}
    tools["pulumi"].path.write_text("#!/bin/sh\n")
    monkeypatch.setattr(shell, "ensure_tools", lambda _names, _screen: tools)
    state = RunState("mine", tmp_path / FOLDER)
    state.make()
    (tmp_path / "muster").mkdir()
    (tmp_path / "muster" / "__init__.py").touch()
    (tmp_path / "muster" / "__main__.py").write_text("print('of another folder')")
    muster = shell.make_commands(state) / name
    command = [str(muster), "controller", "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: muster controller")
    completion = [str(muster.with_name("kubectl_complete-muster")), "contr"]
    done = subprocess.run(completion, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("controller\t")
