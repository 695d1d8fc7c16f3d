"""A real API server accepts the examples, with KubeRay's CRDs and stack local's policies."""

from pathlib import Path

import pytest

from preview.pulumi_cli import Stack
from sandbox.cluster.kubectl import Kubectl
from tools.toolchain.paths import CHECKOUT

EXAMPLES = sorted((CHECKOUT / "examples").glob("**/*.ray*.yaml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_the_api_server_accepts_every_example(cluster: Kubectl, local_stack: Stack, file: Path) -> None:
    output = cluster.run("create", "--dry-run=server", "--validate=strict", "-f", str(file))
    assert "created (server dry run)" in output
