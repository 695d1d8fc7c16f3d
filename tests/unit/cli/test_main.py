"""`muster`: its verbs, their help, errors and completion."""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path

import click
import pytest

from muster import __version__, cli
from muster.cli import kubectl_completion
from muster.cli.acting import ClusterContext, target_options
from muster.cli.main import VERBS, muster
from tests.unit.kube.server import kubeconfig
from tools.toolchain.paths import CHECKOUT

MISTAKES: Mapping[str, tuple[list[str], str]] = {
    "no such verb": (["etaa"], "muster: No such command 'etaa'.\n"),
    "no such option": (["eta", "rayjob/a", "--jso"], "muster eta: No such option '--jso'."),
    "an argument is missing": (["eta"], "muster eta: Missing argument 'KIND/NAME'.\n"),
    "options that exclude each other": (
        ["eta", "rayjob/a", "--queues=x", "--kubeconfig=y"],
        "muster eta: --queues and --kubeconfig are mutually exclusive; give one of them\n",
    ),
    "three sources": (
        ["forecast", "--stack=prod", "--cluster"],
        "muster forecast: --stack and --cluster are mutually exclusive; give one of them\n",
    ),
    "a number that is too small": (["eta", "rayjob/a", "--seeds=0"], "0 is not in the range x>=1"),
    "a pair without a sign": (
        ["forecast", "--map=a"],
        "muster forecast: Invalid value for '--map': 'a'; expected NAME=VALUE\n",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_on_the_command_line_is_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, message = MISTAKES[name]
    assert cli.main(arguments) == 2
    output = capsys.readouterr()
    assert message in output.err
    assert (output.err.count("\n"), output.out) == (1, "")


def test_without_a_verb_the_verbs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    output = capsys.readouterr().err
    assert [verb for verb in VERBS if f"\n  {verb} " not in output] == []


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"muster {__version__}\n"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([verb, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: muster {verb} [OPTIONS]")


def imported(*arguments: str) -> set[str]:
    """Returns the modules that a command imports."""
    code = f"import sys; from muster.cli import main; main({list(arguments)}); print(*sys.modules, sep='\\n')"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    return set(ran.stdout.splitlines())


def test_the_controller_imports_no_tables() -> None:
    modules = imported("controller", "--help")
    assert "muster.cli.controller" in modules
    assert not {"rich", "muster.cli.forecast"} & modules


def test_the_list_of_verbs_imports_none() -> None:
    assert not {f"muster.cli.{verb}" for verb in VERBS} & imported("--help")


def test_an_interrupted_verb_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(arguments: Iterable[object]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("muster.cli.live.read_cluster", interrupted)
    assert cli.main(["eta", "rayjob/a"]) == 130
    assert capsys.readouterr().err == "\nmuster eta: interrupted\n"


def completed(*typed: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert kubectl_completion.main(typed) == 0
    *suggestions, directive = capsys.readouterr().out.splitlines()
    assert directive == ":4"
    return [line.partition("\t")[0] for line in suggestions]


def test_kubectl_completes_verbs_and_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert completed("", capsys=capsys) == list(VERBS)
    assert completed("fo", capsys=capsys) == ["forecast"]
    assert completed("eta", "--name", capsys=capsys) == ["--namespace"]
    assert completed("controller", "--log-level", "w", capsys=capsys) == ["warning"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_a_script_for_completion(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_MUSTER_COMPLETE", f"{shell}_source")
    with pytest.raises(SystemExit) as ended:
        cli.main([])
    assert ended.value.code == 0
    assert "_muster_completion" in capsys.readouterr().out


def test_every_verb_is_a_module_with_a_command() -> None:
    modules = {verb: import_module(f"muster.cli.{'try_' if verb == 'try' else verb}") for verb in VERBS}
    assert {verb for verb, module in modules.items() if module.command.name != "command"} == set()
    assert sorted(VERBS) == list(VERBS) == muster.list_commands(muster.make_context("muster", ["x"]))


@pytest.mark.parametrize(
    ("arguments", "namespace"),
    [
        pytest.param([], "team-a", id="that of the current context"),
        pytest.param(["--context=other"], "default", id="of a context without one"),
        pytest.param(["--context=missing"], "default", id="of a context that is refused when it is used"),
        pytest.param(["-n", "b"], "b", id="one that is given"),
        pytest.param(["--context=other", "-n", "b", "--kubeconfig=no"], "b", id="regardless of the context"),
    ],
)
def test_namespaces_are_those_of_kubectl(
    arguments: list[str], namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(kubeconfig(tmp_path, "http://cluster"))
    content = json.loads(path.read_text())
    content["contexts"][0]["context"]["namespace"] = "team-a"
    content["contexts"].append({"name": "other", "context": {"cluster": "k", "user": "u"}})
    path.write_text(json.dumps(content))
    monkeypatch.setenv("KUBECONFIG", str(path))
    calls: list[str] = []

    @click.command()
    @target_options
    def command(target: ClusterContext) -> None:
        calls.append(target.namespace)

    command.main(arguments, standalone_mode=False)
    assert calls == [namespace]


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        pytest.param(["eta", "rayjob/a"], "; give --kubeconfig FILE, or --queues PATH\n", id="asks"),
        pytest.param(["stop", "workload", "rayjob/a"], "; give --kubeconfig FILE\n", id="acts"),
        pytest.param(["serve"], "; give --kubeconfig FILE\n", id="serves"),
    ],
)
def test_a_missing_kubeconfig_is_told_with_options_that_the_verb_has(
    arguments: list[str],
    remedy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    assert cli.main(arguments) == 2
    assert capsys.readouterr().err.endswith(
        f"missing: No such file or directory; expected a kubeconfig{remedy}"
    )
