"""`drift`: finds changes made by hand since the last deployment, and reverts them."""

from __future__ import annotations

import yaml
from rich.text import Text

from preview import plan_text
from preview.pulumi_cli import Stack
from sandbox.deployment import pulumi_cli
from sandbox.running import require_up
from sandbox.stack_file import SOURCE, STACK, deployed, stack_for
from sandbox.toolchain.console import console
from sandbox.toolchain.ensure import ensure_tools
from sandbox.toolchain.paths import RunState
from sandbox.toolchain.steps import Screen


def drift(state: RunState, fix: bool = False) -> int:
    """Prints each value changed by hand; with `fix` reverts them. Returns 1 if changes remain.

    Compares the cluster with the last deployed state: the stack file and the program may have been edited
    since. Fields that the stack does not declare (statuses, finalizers, controllers' fields) are no drift.
    """
    stack = _stack(state)
    with Screen().activity(lambda seconds: f"Reading the cluster: {seconds:.0f} s"):
        drifted = stack.drift()
    screen = console()
    screen.print(f"sandbox {state.name}, compared with its last deployment:", highlight=False)
    if edited(stack):
        message = (
            f"{SOURCE.name} was edited since then, which is no drift; to deploy it: {state.command('apply')}"
        )
        screen.print(message, highlight=False, soft_wrap=True)
    if not drifted:
        screen.print("nothing was changed by hand")
        return 0
    for _, line in plan_text.table(drifted):
        screen.print(Text(line), soft_wrap=True)
    said = f"to revert changes made by hand: {plan_text.counts(drifted)}"
    if not fix:
        screen.print(f"{said}; {state.command('drift', FIX='1')} does it", highlight=False)
        return 1
    stack.up(refresh=True)
    screen.print(f"{said}; done", highlight=False)
    return 0


def edited(stack: Stack) -> bool:
    """Whether the stack file of the checkout differs from the deployed one."""
    config = yaml.safe_load(stack.config.read_text())["config"]
    return bool(stack_for(config["muster:admission"]["engine"])[0]["config"] != config)


def _stack(state: RunState) -> Stack:
    require_up(state)
    pulumi = ensure_tools(["pulumi"], Screen())["pulumi"].path
    return pulumi_cli(state, pulumi).select(STACK, deployed(state))
