"""`make drift`: what it compares, and a stack file edited since the deployment."""

from pathlib import Path

import pytest
import yaml

from preview.plan import Change
from preview.pulumi_cli import Stack
from sandbox import drift as drift_module
from sandbox.drift import drift
from sandbox.stack_file import SOURCE, stack_for
from sandbox.toolchain.paths import RunState

QUOTA = Change(
    "update", "a:b:Queue", "urn:pulumi:s::p::a:b:Queue::team-b", before={"cpu": "99"}, after={"cpu": "8"}
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """The deployed stack file: the current stack local, for engine kueue."""
    deployed = tmp_path / "Pulumi.local.yaml"
    deployed.write_text(yaml.safe_dump(stack_for("kueue")[0]))
    return deployed


def told(
    deployed: Path,
    changes: tuple[Change, ...],
    monkeypatch: pytest.MonkeyPatch,
    screen: pytest.CaptureFixture[str],
) -> tuple[int, str]:
    class Deployed(Stack):
        def drift(self, say: object = None) -> tuple[Change, ...]:
            return changes

    stack = Deployed(None, "local", deployed)  # type: ignore[arg-type]  # no engine is asked
    monkeypatch.setattr(drift_module, "_stack", lambda state: stack)
    code = drift(RunState())
    return code, screen.readouterr().out


def test_an_unchanged_cluster_has_no_drift(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = told(run, (), monkeypatch, capsys)
    assert code == 0
    assert out.splitlines()[-2:] == [
        "sandbox local, compared with its last deployment:",
        "nothing was changed by hand",
    ]


def test_an_edited_stack_file_is_named_but_is_no_drift(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = yaml.safe_load(run.read_text())
    content["config"]["muster:admission"]["priorities"]["night"] = 10
    run.write_text(yaml.safe_dump(content))
    code, out = told(run, (QUOTA,), monkeypatch, capsys)
    assert code == 1
    assert f"{SOURCE.name} was edited since then, which is no drift; to deploy it: make apply\n" in out
    assert "cpu: 99 → 8" in out
    assert out.endswith("to revert changes made by hand: 1 to update; make drift FIX=1 does it\n")
