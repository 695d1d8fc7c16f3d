"""The examples, as a real API server takes them: KubeRay's definitions and the policies of stack local."""

from pathlib import Path

import pytest

from preview.pulumi_cli import Stack
from sandbox.cluster.kubectl import Kubectl
from sandbox.toolchain.paths import CHECKOUT

EXAMPLES = sorted((CHECKOUT / "examples").glob("**/*.ray*.yaml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_it_is_taken(cluster: Kubectl, local_stack: Stack, file: Path) -> None:
    said = cluster.run("create", "--dry-run=server", "--validate=strict", "-f", str(file))
    assert "created (server dry run)" in said
