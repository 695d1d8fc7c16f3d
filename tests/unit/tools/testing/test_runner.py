"""The runner of test layers: verdicts, the exit code, the last line, and what runs side by side."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.testing import runner
from tools.testing.layers import LAYERS, USUAL, Layer
from tools.testing.runner import run_layers

OK = (sys.executable, "-c", "print('fine')")
BAD = (sys.executable, "-c", "print('broken'); raise SystemExit(1)")
NICENESS = (sys.executable, "-c", "import os; print('niceness', os.nice(0) - {})")
REPORT = '<testsuites><testsuite tests="5" failures="0" errors="0" skipped="1"/></testsuites>'
CHECKOUT = Path(__file__).parents[4]


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(runner, "LOGS", tmp_path / "logs")
    return tmp_path / "logs"


def _reporting(logs: Path) -> tuple[str, ...]:
    return (sys.executable, "-c", f"open({str(logs / 'a.xml')!r}, 'w').write({REPORT!r})")


def _meeting(folder: Path, own: str, other: str) -> tuple[str, ...]:
    """Returns a command that succeeds if the other one runs at the same time."""
    code = (
        "import pathlib, sys, time\n"
        f"folder = pathlib.Path({str(folder)!r})\n"
        f"(folder / {own!r}).touch()\n"
        "until = time.monotonic() + 10\n"
        f"while not (folder / {other!r}).exists():\n"
        "    if time.monotonic() > until: sys.exit('alone')\n"
        "    time.sleep(0.01)\n"
    )
    return (sys.executable, "-c", code)


@pytest.mark.parametrize(
    ("layers", "code", "shown", "not_shown"),
    [
        pytest.param([Layer("a", "A", (OK,))], 0, "    a: fine", "FAILED", id="live"),
        pytest.param([Layer("a", "A", (OK,), live=False)], 0, "[1/1] A: ok", "fine", id="quiet"),
        pytest.param([Layer("a", "A", (BAD,), live=False)], 1, "broken", "A: ok", id="quiet-shows-its-end"),
        pytest.param([Layer("a", "A", (BAD, OK))], 1, "fine", "A: ok", id="commands-after-a-failed-one"),
        pytest.param(
            [Layer("a", "A", (BAD, OK), live=False, together=True)], 1, "broken", "A: ok", id="together"
        ),
        pytest.param(
            [Layer("a", "A", (BAD,)), Layer("b", "B", (OK,))], 1, "B: ok", "A: ok", id="later-layers"
        ),
        pytest.param(
            [Layer("a", "A", (OK,)), Layer("b", "B", (BAD,), waits=True)], 1, "A: ok", "B: ok", id="beside"
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


def test_the_last_lines_name_the_tests_that_failed(logs: Path) -> None:
    case = '<testcase classname="tests.a" name="test_b"><failure message="no"/></testcase>'
    report = f'<testsuites><testsuite tests="1" failures="1">{case}</testsuite></testsuites>'
    code = f"open({str(logs / 'a.xml')!r}, 'w').write({report!r}); raise SystemExit(1)"
    out = io.StringIO()
    run_layers([Layer("a", "A", ((sys.executable, "-c", code),))], out)
    last = ["failed: A", "  tests.a::test_b: no", "0 passed, 1 failed, 0 skipped"]
    assert out.getvalue().splitlines()[-3:] == last


def test_old_reports_do_not_count(logs: Path) -> None:
    logs.mkdir()
    (logs / "old.xml").write_text(REPORT)
    out = io.StringIO()
    run_layers([Layer("a", "A", (OK,))], out)
    assert out.getvalue().splitlines()[-1] == "0 passed, 0 failed, 0 skipped"


def test_layers_that_wait_run_beside_those_that_compute(tmp_path: Path) -> None:
    computes = Layer("a", "A", (_meeting(tmp_path, "computes", "waits"),))
    waits = Layer("b", "B", (_meeting(tmp_path, "waits", "computes"),), waits=True)
    assert run_layers([computes, waits], io.StringIO()) == 0


def test_commands_of_a_layer_run_together_if_it_says_so(tmp_path: Path) -> None:
    both = (_meeting(tmp_path, "one", "other"), _meeting(tmp_path, "other", "one"))
    assert run_layers([Layer("a", "A", both, together=True)], io.StringIO()) == 0


@pytest.mark.parametrize(("waits", "added"), [(False, 10), (True, 0)])
def test_clusters_get_the_processor_before_layers_that_compute(waits: bool, added: int) -> None:
    own = os.nice(0)
    asks = (*NICENESS[:2], NICENESS[2].format(own))
    out = io.StringIO()
    run_layers([Layer("a", "A", (asks,), waits=waits), Layer("b", "B", (OK,), waits=not waits)], out)
    assert f"a: niceness {min(added, 19 - own)}\n" in out.getvalue()


def test_each_layer_has_a_log(logs: Path) -> None:
    run_layers([Layer("a", "A", (OK,), live=False), Layer("b", "B", (BAD, OK), together=True)], io.StringIO())
    assert (logs / "a.log").read_text() == f"$ {' '.join(OK)}\nfine\n"
    assert "broken\n" in (logs / "b.log").read_text()


def test_an_interruption_ends_all_commands(tmp_path: Path) -> None:
    """Sends SIGINT to a run whose commands would last for a minute."""
    asleep = (sys.executable, "-c", "import time; print('asleep', flush=True); time.sleep(60)")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tools.testing import runner\n"
        "from tools.testing.layers import Layer\n"
        f"runner.LOGS = Path({str(tmp_path / 'logs')!r})\n"
        f"layers = [Layer('a', 'A', ({asleep!r},)), Layer('b', 'B', ({asleep!r},), waits=True)]\n"
        "runner.run_layers(layers, sys.stdout)\n"
    )
    command = [sys.executable, "-c", code]
    began = time.monotonic()
    with subprocess.Popen(
        command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        told: set[str] = set()
        while not {"    a: asleep\n", "    b: asleep\n"} <= told:
            told.add(run.stdout.readline())
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=30)
    assert run.returncode != 0
    assert time.monotonic() - began < 50


def test_every_folder_of_tests_is_a_layer() -> None:
    folders = {
        path.parent.relative_to(CHECKOUT / "tests").parts[0]
        for path in (CHECKOUT / "tests").rglob("test_*.py")
    }
    assert folders == {layer.key for layer in LAYERS} - {"lint"}


def test_a_layer_that_takes_minutes_runs_only_if_it_is_named() -> None:
    assert {layer.key for layer in LAYERS} - {layer.key for layer in USUAL} == {"ray"}
