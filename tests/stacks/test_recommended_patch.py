"""The answer of `muster recommend` is a change of the stack file that a preview accepts."""

import subprocess
from pathlib import Path

import pytest

from muster.cli.main import main
from preview.plugins.choice import choose_offline
from preview.pulumi_cli import PulumiCli
from tools.toolchain.paths import CHECKOUT

PROD = Path("stacks/Pulumi.prod.yaml")
SEARCH = (
    *("--trace", "examples/traces/three-teams.csv", "--days", "1", "--seeds", "1"),
    *("--goal", "recommendations p90 <= 7h"),
    *("--vary", "pools.l4-queued=24,32", "--vary", "queues.recommendations.l4-queued=24,32"),
)


@pytest.mark.thorough
def test_a_recommended_patch_passes_preview_and_policies(
    tools: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CHECKOUT)
    answer, file = tmp_path / "answer.patch", tmp_path / PROD
    assert main(["recommend", "--stack", "prod", *SEARCH, "--fresh", "--patch", str(answer)]) == 0
    file.parent.mkdir()
    file.write_text(PROD.read_text())
    subprocess.run(["git", "apply", str(answer)], cwd=tmp_path, check=True)
    cli = PulumiCli(tools["pulumi"], tmp_path / "state", choices=choose_offline())
    changed = cli.select("prod", file).preview(policies=True)
    pools = [
        difference
        for difference in changed.changes
        if difference.type.endswith(":NodePool") and "l4-queued" in difference.name
    ]
    assert [pool.after["autoscaling"]["totalMaxNodeCount"] for pool in pools] == [24]
