"""Python environments that cannot be installed are reported, and tried again the next time."""

from pathlib import Path

import pytest

from tools.toolchain import python_environments
from tools.toolchain.python_environments import python_with
from tools.toolchain.steps import StepError


@pytest.mark.thorough
def test_an_environment_that_cannot_be_installed_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSTER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(python_environments, "CHECKOUT", tmp_path)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "bad.lock").write_text("./absent.whl --hash=sha256:00\n")
    for _ in range(2):
        with pytest.raises(StepError, match="environment bad can't be installed") as reported:
            python_with("bad")
        assert "package index" in reported.value.try_this
