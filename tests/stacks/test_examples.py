"""A real API server accepts the examples, with the CRDs of all operators and stack local's policies."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from muster.objects.names import unqueued_label
from sandbox.cluster.kubectl import Kubectl
from tools.toolchain.paths import CHECKOUT

KINDS = ("ray*", "job", "jobset", "leaderworkerset")
EXAMPLES = sorted(file for kind in KINDS for file in (CHECKOUT / "examples").glob(f"**/*.{kind}.yaml"))


@contextmanager
def allowed(server: Kubectl, file: Path) -> Iterator[None]:
    """Allows the named objects of `unqueued/` outside the queues, as their tenants do (`unqueued`)."""
    manifests = yaml.safe_load_all(file.read_text()) if file.parent.name == "unqueued" else ()
    labels = [
        ("namespace", manifest["metadata"]["namespace"], unqueued_label(manifest["kind"], name))
        for manifest in manifests
        if (name := manifest["metadata"].get("name"))
    ]
    for *namespace, label in labels:
        server.run("label", *namespace, f"{label}=true")
    try:
        yield
    finally:
        for *namespace, label in labels:
            server.run("label", *namespace, f"{label}-")


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_the_api_server_accepts_every_example(server: Kubectl, file: Path) -> None:
    with allowed(server, file):
        output = server.run("create", "--dry-run=server", "--validate=strict", "-f", str(file))
    assert "created (server dry run)" in output
