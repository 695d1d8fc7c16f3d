"""`env`: prints variables for a shell, so that kubectl, pulumi, muster and make use the sandbox."""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from sandbox.deployment import pulumi_cli
from sandbox.running import require_up
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import CHECKOUT, NAME_VARIABLE, RunState
from tools.toolchain.steps import Screen


def exports(state: RunState) -> str:
    """Returns `export NAME=value` lines for a POSIX shell; prints progress to stderr.

    Sets KUBECONFIG, PATH with the sandbox's commands first, and the sandbox's name for make.
    Raises StepError if the sandbox is not up.
    """
    require_up(state)
    commands = make_commands(state)
    values = {"KUBECONFIG": str(state.kubeconfig), NAME_VARIABLE: state.name}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in values.items()]
    return "\n".join([*lines, f'export PATH={shlex.quote(str(commands))}:"$PATH"'])


def make_commands(state: RunState) -> Path:
    """Creates a folder with kubectl and pulumi for this sandbox, and muster of this checkout. Returns the
    folder."""
    tools = ensure_tools(["kubectl", "pulumi"], Screen(sys.stderr))
    cli = pulumi_cli(state, tools["pulumi"].path)
    folder = state.root / "bin"
    folder.mkdir(exist_ok=True)
    link = folder / "kubectl"
    link.unlink(missing_ok=True)
    link.symlink_to(tools["kubectl"].path)
    write_script(folder / "pulumi", [str(cli.binary)], cli.variables)
    # -P: ignores a folder named muster in the user's working directory.
    for name in ("muster", "kubectl-muster"):  # kubectl runs the latter for `kubectl muster`
        write_script(folder / name, [sys.executable, "-P", "-m", "muster"], {"PYTHONPATH": str(CHECKOUT)})
    completion = [sys.executable, "-P", "-m", "muster.cli.kubectl_completion"]
    write_script(folder / "kubectl_complete-muster", completion, {"PYTHONPATH": str(CHECKOUT)})
    return folder


def write_script(path: Path, command: list[str], variables: Mapping[str, str]) -> None:
    """Writes an executable script that sets the variables and runs the command."""
    exported = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    path.write_text("\n".join(["#!/bin/sh", *exported, f'exec {shlex.join(command)} "$@"', ""]))
    path.chmod(0o755)
