"""The stack of a sandbox in Pulumi's terms: the CLI on its cluster, and its deployment."""

from __future__ import annotations

from pathlib import Path

from preview import plan_text
from preview.pulumi_cli import PulumiCli, Stack
from sandbox.toolchain.paths import RunState
from sandbox.toolchain.steps import Screen


def pulumi_cli(state: RunState, binary: Path, **variables: str) -> PulumiCli:
    """Returns the CLI for the state and the cluster of this sandbox, with more variables."""
    return PulumiCli(binary, state.root, env={"KUBECONFIG": str(state.kubeconfig), **variables})


def deploy(stack: Stack, screen: Screen) -> str:
    """Runs `pulumi up`, shows its progress, and returns counts of resources as previews do."""
    lines = [""]
    with screen.activity(lambda elapsed: f"  {elapsed:.0f} s: {lines[-1]}"):
        outcome = stack.up(lines.append)
    return plan_text.counts(outcome.changes)
