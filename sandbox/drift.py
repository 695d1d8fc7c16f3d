"""`drift`: finds changes made by hand since the last deployment, and reverts them."""

from pathlib import Path

import yaml

from drift.deployed import read_state
from drift.report import report
from preview.pulumi_cli import Stack
from sandbox.deployment import pulumi_cli
from sandbox.running import has_real_nodes, require_up
from sandbox.stack_file import SOURCE, STACK, deployed, stack_for
from tools.toolchain.console import console
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen


def drift(state: RunState, fix: bool = False, file: Path | None = None) -> int:
    """Prints each object that was changed by hand; with `fix`, reverts it. Returns the exit code
    (drift/report.py).

    Compares the cluster with the last deployed state, as the stack file and the program may have been edited
    since. Fields owned by controllers are no drift. `file` receives the same report as JSON.
    """
    stack = _stack(state)
    if edited(stack, real_nodes=has_real_nodes(state)):
        message = (
            f"{SOURCE.name} was edited since the last deployment of sandbox {state.name}, which is no drift; "
            f"to deploy it: {state.command('apply')}"
        )
        console().print(message, highlight=False, soft_wrap=True)
    revert = state.command("drift", FIX="1")
    return report(read_state(stack.exported()), {}, revert=revert, fix=fix, file=file)


def edited(stack: Stack, *, real_nodes: bool = False) -> bool:
    """Returns whether the stack file of the checkout differs from the deployed file."""
    config = yaml.safe_load(stack.config.read_text())["config"]
    current, _ = stack_for(config["muster:admission"]["engine"], real_nodes=real_nodes)
    return bool(current["config"] != config)


def _stack(state: RunState) -> Stack:
    require_up(state)
    pulumi = ensure_tools(["pulumi"], Screen())["pulumi"].path
    return pulumi_cli(state, pulumi).select(STACK, deployed(state))
