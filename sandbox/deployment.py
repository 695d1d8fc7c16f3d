"""The Pulumi CLI for a sandbox's cluster, and the deployment of the stack."""

from pathlib import Path

from preview import plan_text
from preview.pulumi_cli import PulumiCli, Stack
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen


def pulumi_cli(state: RunState, binary: Path, **variables: str) -> PulumiCli:
    """Returns the CLI for the state and cluster of this sandbox, with additional environment variables."""
    return PulumiCli(binary, state.root, env={"KUBECONFIG": str(state.kubeconfig), **variables})


def deploy(stack: Stack, screen: Screen) -> str:
    """Runs `pulumi up` and shows its progress. Returns the counts of resources, formatted as in previews."""
    lines = [""]
    with screen.activity(lambda elapsed: f"  {elapsed:.0f} s: {lines[-1]}"):
        outcome = stack.up(lines.append)
    return plan_text.counts(outcome.changes)
