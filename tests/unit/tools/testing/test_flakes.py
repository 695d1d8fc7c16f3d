"""Unreliable tests: what counts as one, the order of a seed, and the load, which ends with its run."""

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest

from tools.testing import flakes as module
from tools.testing.flakes import flakes, load, unreliable
from tools.testing.shuffle import pytest_collection_modifyitems

CHECKOUT = Path(__file__).parents[4]
PASSED, FAILED = {"a": "passed"}, {"a": "failed"}


@pytest.mark.parametrize(
    ("rounds", "told"),
    [
        pytest.param({1: PASSED, 2: PASSED}, {}, id="passes"),
        pytest.param({1: {"a": "skipped"}, 2: {"a": "skipped"}}, {}, id="skipped"),
        pytest.param({1: FAILED, 2: FAILED}, {"a": "failed with 1, 2"}, id="always fails"),
        pytest.param(
            {1: PASSED, 2: FAILED, 3: PASSED}, {"a": "failed with 2; passed with 1, 3"}, id="fails once"
        ),
        pytest.param(
            {1: PASSED, 2: {"a": "skipped"}}, {"a": "passed with 1; skipped with 2"}, id="skipped once"
        ),
        pytest.param({1: PASSED, 2: {}}, {"a": "not run with 2; passed with 1"}, id="not run once"),
        pytest.param({1: FAILED}, {"a": "failed with 1"}, id="one round"),
        pytest.param(
            {1: PASSED | {"b": "failed"}, 2: PASSED | {"b": "passed"}},
            {"b": "failed with 1; passed with 2"},
            id="named alone",
        ),
    ],
)
def test_unreliable_tests(rounds: Mapping[int, Mapping[str, str]], told: Mapping[str, str]) -> None:
    assert unreliable(rounds) == told


def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, times: int) -> tuple[int, str]:
    """Runs rounds of a layer that consists of this file."""
    (tmp_path / "test_it.py").write_text(text)

    def commands(key: str, folder: Path, *options: str) -> tuple[tuple[str, ...], ...]:
        quiet = ("-q", "-c", "/dev/null", "-p", "no:cacheprovider", f"--junitxml={folder / key}.xml")
        return ((sys.executable, "-m", "pytest", *quiet, *options, str(tmp_path / "test_it.py")),)

    monkeypatch.setattr(module, "pytest_commands", commands)
    monkeypatch.setattr(module, "FOLDER", tmp_path / "flakes")
    out = io.StringIO()
    return flakes(["unit"], times, 7, out, busy=0), out.getvalue()


def test_a_test_that_depends_on_the_order_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One test needs what another one leaves: the orders of the two seeds differ."""
    text = "seen = []\ndef test_leaves(): seen.append(1)\ndef test_needs(): assert seen\n"
    code, told = run(tmp_path, monkeypatch, text, 2)
    (named,) = [line for line in told.splitlines() if line.startswith("unreliable: ")]
    assert code == 1
    assert named.startswith("unreliable: test_it::test_needs: failed with ")
    assert "passed with" in named
    assert "round 2 of 2, seed 8:" in told


def test_reliable_tests_are_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, told = run(tmp_path, monkeypatch, "def test_passes(): pass\n", 1)
    assert code == 0
    assert "round 1 of 1, seed 7: 1 passed, 0 failed, 0 skipped\n" in told
    assert told.splitlines()[-1].startswith("0 of 1 tests are unreliable")


def test_a_layer_that_breaks_off_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, told = run(tmp_path, monkeypatch, "import os\ndef test_ends_pytest(): os._exit(3)\n", 1)
    assert code == 1
    assert "unreliable: layer unit as a whole, exit codes [3]: failed with 7\n" in told


def test_an_interrupted_round_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "pid"
    text = f"""
import os, pathlib, signal, time
def test_waits():
    pathlib.Path({str(told)!r}).write_text(str(os.getpid()))
    os.kill({os.getpid()}, signal.SIGUSR1)
    time.sleep(60)
"""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, monkeypatch, text, 1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not psutil.pid_exists(int(told.read_text()))


@dataclass
class Options:
    seed: int

    def getoption(self, name: str) -> int:
        assert name == "--shuffle-seed"
        return self.seed


@dataclass(frozen=True)
class Item:
    path: str
    name: str


def order(seed: int) -> list[Item]:
    items: Any = [Item(path, f"test_{number}") for path in "abc" for number in range(5)]
    options: Any = Options(seed)
    pytest_collection_modifyitems(options, items)
    return list(items)


def test_a_seed_is_an_order() -> None:
    first = order(1)
    assert order(1) == first
    assert order(2) != first
    assert set(order(2)) == set(first)
    assert [item.name for item in first if item.path == "a"] != [f"test_{number}" for number in range(5)]


def test_the_tests_of_a_file_stay_together() -> None:
    """Fixtures of a file are made once."""
    paths = [item.path for item in order(1)]
    assert sum(one != next_one for one, next_one in pairwise(paths)) == 2


def ends(pids: list[int]) -> bool:
    until = time.monotonic() + 20
    while any(map(works, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(map(works, pids))


def works(pid: int) -> bool:
    """Whether the process has not ended; its new parent may not have asked for its exit code yet."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_the_load_ends_with_its_block() -> None:
    def interrupted() -> None:
        with load(2) as pids:
            seen.extend(pids)
            assert all(map(psutil.pid_exists, pids))
            raise KeyboardInterrupt

    seen: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(seen) == 2
    assert not any(map(psutil.pid_exists, seen))


def test_the_load_ends_if_its_parent_is_killed() -> None:
    code = (
        "import time\n"
        "from tools.testing.flakes import load\n"
        "with load(2) as pids:\n"
        "    print(*pids, flush=True)\n"
        "    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        parent.kill()
        parent.wait()
    assert len(pids) == 2
    assert ends(pids)
