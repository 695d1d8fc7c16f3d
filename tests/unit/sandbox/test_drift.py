"""`make drift`: a stack file edited since the deployment."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from preview.pulumi_cli import Stack
from sandbox import drift as drift_module
from sandbox.drift import drift
from sandbox.stack_file import SOURCE, stack_for
from tools.toolchain.paths import RunState


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The deployed stack file of a sandbox: the current stack local, for engine kueue."""
    deployed = tmp_path / "Pulumi.local.yaml"
    deployed.write_text(yaml.safe_dump(stack_for("kueue")[0]))

    class Deployed(Stack):
        def exported(self) -> dict[str, Any]:
            return {"deployment": {"resources": []}}

    stack = Deployed(None, "local", deployed)  # type: ignore[arg-type]  # no engine is asked
    monkeypatch.setattr(drift_module, "_stack", lambda state: stack)
    return deployed


def test_an_unchanged_stack_file_is_not_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert drift(RunState()) == 0
    assert "was edited" not in capsys.readouterr().out


def test_an_edited_stack_file_is_named_but_is_no_drift(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = yaml.safe_load(run.read_text())
    content["config"]["muster:admission"]["priorities"]["night"] = 10
    run.write_text(yaml.safe_dump(content))
    assert drift(RunState()) == 0
    message = f"{SOURCE.name} was edited since the last deployment of sandbox local, which is no drift"
    assert f"{message}; to deploy it: make apply\n" in capsys.readouterr().out
