"""A real API server accepts the examples, with the CRDs of KubeRay and JobSet and stack local's policies."""

from pathlib import Path

import pytest

from sandbox.cluster.kubectl import Kubectl
from tools.toolchain.paths import CHECKOUT

KINDS = ("ray*", "job", "jobset")
EXAMPLES = sorted(file for kind in KINDS for file in (CHECKOUT / "examples").glob(f"**/*.{kind}.yaml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_the_api_server_accepts_every_example(server: Kubectl, file: Path) -> None:
    output = server.run("create", "--dry-run=server", "--validate=strict", "-f", str(file))
    assert "created (server dry run)" in output
