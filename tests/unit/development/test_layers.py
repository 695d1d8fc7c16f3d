"""The runner of test layers: verdicts, the exit code and the last line."""

import io
import sys
from pathlib import Path

import pytest

from development import layers as testing
from development.layers import Layer, run_layers

OK = (sys.executable, "-c", "print('fine')")
BAD = (sys.executable, "-c", "print('broken'); raise SystemExit(1)")
REPORT = '<testsuites><testsuite tests="5" failures="0" errors="0" skipped="1"/></testsuites>'


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(testing, "LOGS", tmp_path / "logs")
    return tmp_path / "logs"


def _reporting(logs: Path) -> tuple[str, ...]:
    return (sys.executable, "-c", f"open({str(logs / 'a.xml')!r}, 'w').write({REPORT!r})")


@pytest.mark.parametrize(
    ("layers", "code", "shown", "not_shown"),
    [
        pytest.param([Layer("a", "A", (OK,))], 0, "fine", "FAILED", id="live"),
        pytest.param([Layer("a", "A", (OK,), live=False)], 0, "[1/1] A: ok", "fine", id="quiet"),
        pytest.param([Layer("a", "A", (BAD,), live=False)], 1, "broken", "A: ok", id="quiet-shows-its-end"),
        pytest.param([Layer("a", "A", (BAD, OK))], 1, "fine", "A: ok", id="commands-after-a-failed-one"),
        pytest.param(
            [Layer("a", "A", (BAD,)), Layer("b", "B", (OK,))], 1, "B: ok", "A: ok", id="later-layers"
        ),
    ],
)
def test_layers(layers: list[Layer], code: int, shown: str, not_shown: str) -> None:
    out = io.StringIO()
    assert run_layers(layers, out) == code
    assert shown in out.getvalue()
    assert not_shown not in out.getvalue()


def test_the_last_line_sums_the_reports(logs: Path) -> None:
    out = io.StringIO()
    run_layers([Layer("a", "A", (_reporting(logs),)), Layer("b", "B", (BAD,))], out)
    assert out.getvalue().splitlines()[-1] == "4 passed, 0 failed, 1 skipped"


def test_old_reports_do_not_count(logs: Path) -> None:
    logs.mkdir()
    (logs / "old.xml").write_text(REPORT)
    out = io.StringIO()
    run_layers([Layer("a", "A", (OK,))], out)
    assert out.getvalue().splitlines()[-1] == "0 passed, 0 failed, 0 skipped"
