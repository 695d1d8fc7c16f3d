"""The cache of mypy that outlives the checkout."""

import subprocess
from pathlib import Path

import pytest

from tools.chores import types


@pytest.mark.parametrize(
    ("own", "stored", "code", "begins_with", "then_kept"),
    [
        pytest.param("own", "kept", 0, "own", "kept", id="both"),
        pytest.param("", "kept", 0, "kept", "kept", id="a new checkout"),
        pytest.param("own", "", 0, "own", "own", id="new libraries"),
        pytest.param("own", "", 1, "own", "", id="new libraries and errors"),
    ],
)
def test_a_checkout_begins_with_the_kept_cache(
    own: str,
    stored: str,
    code: int,
    begins_with: str,
    then_kept: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folders = {"own": tmp_path / "cache", "kept": tmp_path / "kept"}
    for name in filter(None, (own, stored)):
        folders[name].mkdir()
        (folders[name] / "of").write_text(name)
    caches: list[str] = []

    def call(*_command: object, **_options: object) -> int:
        caches.append((folders["own"] / "of").read_text())
        return code

    monkeypatch.setattr(subprocess, "call", call)
    assert types(folders["own"], folders["kept"]) == code
    assert caches == [begins_with]
    cache = folders["kept"] / "of"
    assert (cache.read_text() if cache.exists() else "") == then_kept
    assert {path.name for path in tmp_path.iterdir()} <= {"cache", "kept"}
