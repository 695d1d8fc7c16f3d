"""`drift`: what in the sandbox is no longer as its stack declares it, and putting it right."""

from __future__ import annotations

from rich.text import Text

from sandbox import plan_text
from sandbox.paths import RunState
from sandbox.plan import STACK, Change
from sandbox.pulumi_cli import PulumiCli, Stack
from sandbox.status import console
from sandbox.steps import Screen, StepError
from sandbox.toolchain import ensure_tools
from sandbox.up import STACK as LOCAL


def drift(state: RunState, mend: bool = False) -> int:
    """Shows what was changed by hand, value by value; with `mend` undoes it. 1 where something is left.

    As `pulumi preview --refresh` does for an environment of your own: what the stack does not declare
    (statuses, finalizers, what controllers write) is nobody's drift.
    """
    stack = _stack(state)
    with Screen().activity(lambda seconds: f"Reading what is there: {seconds:.0f} s"):
        drifted = drifted_from(stack)
    screen = console()
    if not drifted:
        screen.print(f"sandbox {state.name}: everything is as the stack declares it")
        return 0
    for _, line in plan_text.table(drifted):
        screen.print(Text(line), soft_wrap=True)
    said = f"sandbox {state.name}: {plan_text.counts(drifted)}"
    if not mend:
        screen.print(f"{said}; to undo what was changed: make drift MEND=1", highlight=False)
        return 1
    stack.up(refresh=True)
    screen.print(f"{said}; done", highlight=False)
    return 0


def drifted_from(stack: Stack) -> tuple[Change, ...]:
    """What `up` would change, were the state as things are."""
    changes = stack.preview(refresh=True).changes
    return tuple(change for change in changes if change.op != "same" and change.type != STACK)


def _stack(state: RunState) -> Stack:
    if not state.kubeconfig.exists():
        raise StepError(f"sandbox {state.name} is not up", try_this="make up")
    pulumi = ensure_tools(["pulumi"], Screen())["pulumi"].path
    cli = PulumiCli(pulumi, state.root, env={"KUBECONFIG": str(state.kubeconfig)})
    return cli.select(LOCAL, state.root / f"Pulumi.{LOCAL}.yaml")
