"""Golden plans: the summary of each stack's plan, stored with the tests and reviewed like code."""

import difflib
import sys
from pathlib import Path

from preview import plan_text
from preview.plan import ResourceChange
from preview.plugins.choice import choose_offline, sources
from preview.pulumi_cli import PulumiCli
from tools.toolchain.command import carry_out
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import CHECKOUT, RunState
from tools.toolchain.steps import Screen

FOLDER = CHECKOUT / "tests" / "stacks" / "golden"
ACCEPT = "make golden"


def golden() -> int:
    """Rewrites the summaries and prints which have changed."""
    pulumi = ensure_tools(["pulumi"], Screen())["pulumi"].path
    FOLDER.mkdir(exist_ok=True)
    choices = choose_offline()
    for settings in sorted((CHECKOUT / "stacks").glob("Pulumi.*.yaml")):
        stack = settings.stem.removeprefix("Pulumi.")
        cli = PulumiCli(pulumi, RunState("preview").root, choices=choices)
        outcome = cli.select(stack, settings).preview()
        differs = difference(stack, outcome.changes)
        file(stack).write_text(plan_text.summary(outcome.changes))
        print(f"{stack}: {'changed' if differs else 'unchanged'} ({outcome.seconds:.1f} s)", flush=True)
    print(f"plugins: {sources(choices)}")
    return 0


def file(stack: str) -> Path:
    """Returns the path of a stack's golden plan."""
    return FOLDER / f"{stack}.txt"


def difference(stack: str, changes: tuple[ResourceChange, ...]) -> str:
    """Returns a unified diff between the accepted summary and the summary of `changes`; empty if equal."""
    accepted = file(stack).read_text() if file(stack).exists() else ""
    names = (f"tests/stacks/golden/{stack}.txt", f"plan of {stack} now")
    old, new = accepted.splitlines(), plan_text.summary(changes).splitlines()
    return "\n".join(difflib.unified_diff(old, new, *names, lineterm=""))


if __name__ == "__main__":
    sys.exit(carry_out("golden", golden))
