"""Runs of several nox sessions: exit codes, the last line, logs, parallel lanes, interruptions."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.testing import run
from tools.testing.layers import LAYERS, Lane, Layer
from tools.testing.noxfile import failed_tests, in_random_order
from tools.toolchain.paths import CHECKOUT

pytestmark = pytest.mark.thorough  # each case starts nox

OK = (sys.executable, "-c", "print('fine')")
BAD = (sys.executable, "-c", "print('broken'); raise SystemExit(1)")
NOXFILE = """
import sys
sys.path.insert(0, {checkout!r})
from pathlib import Path
from tools.testing import layers, noxfile
from tools.testing.layers import Lane
layers.LOGS = noxfile.LOGS = Path({logs!r})
for layer in {layers}:
    noxfile.add(layer)
"""
REPORT = """<testsuites><testsuite tests="6" failures="1" errors="1" skipped="1">
<testcase classname="tests.a" name="test_b"><failure message="no"/></testcase></testsuite></testsuites>"""
SKIP = '<testcase name="t"><skipped message="no root"/></testcase>'


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "logs"
    monkeypatch.setattr(run, "LOGS", folder)
    return folder


def played(
    layers: list[Layer],
    logs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    *,
    selected: bool = False,
) -> tuple[int, str]:
    """Runs the layers with their own noxfile; returns the exit code and the output."""
    noxfile = logs.with_name("noxfile.py")
    shown = re.sub(r"<(Lane\.\w+): [^>]+>", r"\1", repr(layers))
    text = NOXFILE.format(checkout=str(CHECKOUT), logs=str(logs), layers=shown)
    noxfile.write_text(text.replace("[Layer(", "[layers.Layer(").replace(", Layer(", ", layers.Layer("))
    monkeypatch.setattr(run, "NOXFILE", noxfile)
    code = run.run_layers(layers, selected=selected)
    captured = capfd.readouterr()
    return code, captured.out + captured.err


def writes(file: Path, text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", f"import pathlib; pathlib.Path({str(file)!r}).write_text({text!r})")


@pytest.mark.parametrize(
    ("layers", "code", "shown", "hidden"),
    [
        pytest.param([Layer("a", "A", (OK,))], 0, "Session a was successful", "failed.", id="passes"),
        pytest.param([Layer("a", "A", (BAD, OK))], 1, "fine", "successful", id="commands-after-a-failure"),
        pytest.param(
            [Layer("a", "A", (BAD,)), Layer("b", "B", (OK,))], 1, "b: success", "a: success", id="later-layer"
        ),
        pytest.param(
            [Layer("a", "A", (OK,)), Layer("b", "B", (BAD,), lane=Lane.WAITING)],
            1,
            "broken",
            "b was",
            id="lanes",
        ),
    ],
)
def test_layers(
    layers: list[Layer],
    code: int,
    shown: str,
    hidden: str,
    logs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    actual, output = played(layers, logs, monkeypatch, capfd)
    assert actual == code, output
    assert shown in output
    assert hidden not in output
    logged = [layer for layer in layers if (logs / f"{layer.key}.log").exists()]
    assert logged == [layer for layer in layers if layer.lane is Lane.WAITING]
    for layer in layers:
        assert re.search(rf"^{layer.key}  (passed|failed)   0:0\d$", output, re.MULTILINE), output
    for layer in logged:
        assert (logs / f"{layer.key}.log").read_text().startswith(f"$ {' '.join(layer.commands[0])}\n")


def test_the_last_line_sums_the_reports(
    logs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    layer = Layer("a", "A", (writes(logs / "a.xml", REPORT), writes(logs / "b.xml", REPORT)))
    _, output = played([layer], logs, monkeypatch, capfd)
    assert "6 passed, 4 failed, 2 skipped\n" in output


@pytest.mark.parametrize(
    ("cases", "line"),
    [
        pytest.param(f"{SKIP}{SKIP}", r"nodes  skipped  0:\d\d  no root", id="all tests"),
        pytest.param(f'{SKIP}<testcase name="c"/>', r"nodes  passed   0:\d\d", id="one of two tests"),
        pytest.param("", r"nodes  passed   0:\d\d", id="no tests"),
    ],
)
def test_a_skipped_layer_says_why(
    cases: str, line: str, logs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    report = f"<testsuites><testsuite>{cases}</testsuite></testsuites>"
    layer = Layer("nodes", "N", (writes(logs / "nodes.xml", report),))
    _, output = played([layer], logs, monkeypatch, capfd)
    assert re.search(f"^{line}$", output, re.MULTILINE), output


def test_a_selected_layer_runs_the_tests_that_take_minutes(
    logs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    layer = Layer("a", "A", (OK,), selected_commands=(BAD,))
    assert played([layer], logs, monkeypatch, capfd)[0] == 0
    assert played([layer], logs, monkeypatch, capfd, selected=True)[0] == 1


def test_lanes_run_in_parallel(tmp_path: Path) -> None:
    def meets(own: str, other: str) -> tuple[str, ...]:
        code = (
            "import pathlib, sys, time\n"
            f"folder = pathlib.Path({str(tmp_path)!r})\n"
            f"(folder / {own!r}).touch()\n"
            "until = time.monotonic() + 30\n"
            f"while not (folder / {other!r}).exists():\n"
            "    if time.monotonic() > until: sys.exit('alone')\n"
            "    time.sleep(0.01)\n"
        )
        return (sys.executable, "-c", code)

    assert run.run_together([meets("a", "b"), meets("b", "a")]) == 0


def test_an_interruption_ends_all_commands() -> None:
    # A line in one write, as both write to one pipe, and short sleeps: a signal that arrives just before a
    # sleep begins is handled when that sleep ends.
    sleeps = "import os, time; os.write(1, b'asleep\\n'); [time.sleep(0.1) for _ in range(600)]"
    asleep = (sys.executable, "-c", sleeps)
    # A test run in the background of a script ignores SIGINT, and its children would too.
    heeds = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heeds}; from tools.testing.run import run_together; run_together([{asleep!r}, {asleep!r}])"
    began = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["asleep\n", "asleep\n"]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=50)
    assert process.returncode != 0
    assert time.monotonic() - began < 50


def test_unreliable_tests_are_named(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("F.\nFAILED tests/a.py::test_b - no\nERROR tests/c.py\n1 failed, 1 error\n")
    assert failed_tests(log) == ["FAILED tests/a.py::test_b - no", "ERROR tests/c.py"]
    log.write_text("killed\n")
    assert failed_tests(log) == ["killed"]


def test_a_seed_is_an_order(tmp_path: Path) -> None:
    """The order of the plugin's seeds differs, and one test needs another one's effect."""
    (tmp_path / "test_it.py").write_text(
        "seen = []\ndef test_leaves(): seen.append(1)\ndef test_needs(): assert seen\n"
    )
    unit = next(layer for layer in LAYERS if layer.key == "unit")
    options = [option for command in in_random_order(unit, 1) for option in command if "random" in option]
    assert options == ["randomly", "--randomly-seed=1"]
    quiet = ("-q", "-c", "/dev/null", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "randomly")
    codes = set()
    for seed in range(5):
        command = [sys.executable, "-m", "pytest", *quiet, f"--randomly-seed={seed}", str(tmp_path)]
        no_others = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        codes.add(subprocess.run(command, env=no_others, capture_output=True).returncode)
        if len(codes) > 1:
            break
    assert codes == {0, 1}
