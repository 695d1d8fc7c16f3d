"""Builds: which tools are built together, how many at a time, what remains in the cache, and failures."""

import io
import json
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import psutil
import pytest

from tools.toolchain import build
from tools.toolchain.build import Build, build_all, executable, together
from tools.toolchain.build_runs import BUILD_BYTES, Builds, Command, Run, compilers, slots
from tools.toolchain.golang import Go
from tools.toolchain.steps import Screen, StepError
from tools.toolchain.tools import TOOLS, tools_for

MUSTER = [TOOLS[name] for name in tools_for("muster")]


def names(builds: list[Build]) -> list[list[str]]:
    return [[tool.name for tool in group.tools] for group in builds]


def test_the_tools_of_a_module_are_built_together_and_the_longest_first() -> None:
    builds = together(MUSTER)
    kubernetes = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"]
    assert names(builds)[0] == kubernetes
    assert sorted(names(builds)) == sorted(
        [["pulumi"], ["etcd"], kubernetes, ["kwok", "kwokctl"], ["ray-operator"]]
    )
    estimates = [group.cpu_seconds for group in builds]
    assert estimates == sorted(estimates, reverse=True)


@pytest.mark.parametrize("change", [{"tags": ("x",)}, {"cgo": True}, {"ldflags": "-X a=b"}], ids=str)
def test_tools_with_other_flags_are_built_apart(change: dict[str, object]) -> None:
    other = replace(TOOLS["kwokctl"], **change)  # type: ignore[arg-type]
    assert len(together([TOOLS["kwok"], other])) == 2


@pytest.mark.parametrize(
    ("cores", "gigabytes", "expected"),
    [
        (1, 64, 1),
        (2, 64, 2),
        (2, 8, 2),
        (2, 7, 1),
        (2, 1, 1),
        (4, 64, 2),
        (8, 64, 4),
        (8, 13, 3),
        (32, 64, 16),
    ],
)
def test_builds_at_a_time(cores: int, gigabytes: int, expected: int) -> None:
    assert slots(cores, gigabytes << 30) == expected
    assert slots(cores, gigabytes << 30) * BUILD_BYTES <= max(gigabytes << 30, BUILD_BYTES)
    assert 1 <= compilers(cores, expected) <= cores


GO = """#!/bin/sh
if [ "$1" = list ]; then echo "$PACKAGES"; exit; fi
# A go that writes its arguments and its environment, and scripts that print their names.
echo "$*" >> "$CALLS"
echo "$GOGC $CGO_ENABLED" >> "$CALLS.environment"
while [ "$1" != -o ]; do shift; done
target=$2; shift 2
case "$*" in *"$FAILS"*) echo "no space left on device"; exit 1;; esac
for package in "$@"; do
  if [ -d "$target" ]; then file="$target/${package##*/}"; else file="$target"; fi
  echo "$package" > "$file"
done
"""


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Go:
    script = tmp_path / "go"
    script.write_text(GO)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    environment = {"PATH": os.environ["PATH"], "CALLS": str(tmp_path / "calls"), "FAILS": "nothing"}
    fake = Go(script, "1.26.8", environment)
    monkeypatch.setenv("MUSTER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "find_go", lambda: fake)
    return fake


def test_every_tool_gets_an_executable_and_a_receipt(go: Go, tmp_path: Path) -> None:
    screen = io.StringIO()
    receipts = build_all(MUSTER, Screen(screen))
    for tool in MUSTER:
        assert executable(tool).read_text() == f"{tool.package}\n"
        receipt = json.loads((executable(tool).parent / "receipt.json").read_text())
        assert (receipt["tool"], receipt["version"]) == (tool.name, tool.version)
    assert set(receipts) == {tool.name for tool in MUSTER}
    assert len((tmp_path / "calls").read_text().splitlines()) == 5
    assert set((tmp_path / "calls.environment").read_text().splitlines()) == {"400 0"}
    assert not list((tmp_path / "cache" / "tools").glob("*.unfinished"))
    lines = screen.getvalue().splitlines()
    assert lines[0].startswith("  builds: kubernetes (4 tools), pulumi, kwok (2 tools), ray-operator, etcd, ")
    assert len(lines) == 6
    assert build_all(MUSTER, Screen(screen)) == {}  # as after waiting for another run
    assert len((tmp_path / "calls").read_text().splitlines()) == 5


def test_a_failed_build_is_explained_and_leaves_nothing_behind(
    go: Go, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = replace(go, environment={**go.environment, "FAILS": "kwok"})
    monkeypatch.setattr(build, "find_go", lambda: failing)
    with pytest.raises(StepError, match="kwok, kwokctl failed to build:\nno space left") as error:
        build_all([TOOLS["kwok"], TOOLS["kwokctl"]], Screen(io.StringIO()))
    assert "free some disk" in error.value.try_this
    assert not executable(TOOLS["kwok"]).exists()
    assert not list((tmp_path / "cache" / "tools").glob("*.unfinished"))


class FakeRun:
    """A build that ends after a number of polls."""

    def __init__(self, name: str, polls: int) -> None:
        self.command = Command(name, name, (), (), Path(), {}, Path(), 1.0)
        self.polls = polls
        self.stopped = False

    def poll(self) -> int | None:
        self.polls -= 1
        return 0 if self.polls <= 0 else None

    def stop(self) -> None:
        self.stopped = True


def builds_of(
    durations: dict[str, int], at_a_time: int, pause: Callable[[], None]
) -> tuple[Builds, dict[str, FakeRun]]:
    runs = {name: FakeRun(name, polls) for name, polls in durations.items()}
    commands = [run.command for run in runs.values()]
    start = cast(Callable[[Command], Run], lambda command: runs[command.name])
    return Builds(commands, at_a_time, start, pause), runs


@pytest.mark.parametrize(("at_a_time", "order"), [(1, "abcd"), (2, "bacd"), (4, "bdac")])
def test_builds_end_in_order_of_their_slots(at_a_time: int, order: str) -> None:
    ended: list[str] = []
    builds, _ = builds_of({"a": 3, "b": 1, "c": 3, "d": 2}, at_a_time, lambda: None)
    builds.run(lambda run, code: ended.append(run.command.name))
    assert "".join(ended) == order


@pytest.mark.parametrize("error", [StepError("b"), KeyboardInterrupt()], ids=["failure", "interruption"])
def test_other_builds_are_stopped(error: BaseException) -> None:
    def ended(run: Run, code: int) -> None:
        raise error

    builds, runs = builds_of({"a": 9, "b": 1, "c": 9}, 2, lambda: None)
    with pytest.raises(type(error)):
        builds.run(ended)
    assert [name for name, run in runs.items() if run.stopped] == ["a"]


def test_an_interrupted_pause_stops_all_builds() -> None:
    def pause() -> None:
        raise KeyboardInterrupt

    builds, runs = builds_of({"a": 9, "b": 9}, 2, pause)
    with pytest.raises(KeyboardInterrupt):
        builds.run(lambda run, code: None)
    assert all(run.stopped for run in runs.values())


def command(folder: Path, script: str, listing: str = "echo a") -> Command:
    shell = ("/bin/sh", "-c")
    return Command("a", "a", (*shell, script), (*shell, listing), folder, {}, folder / "log", 1.0)


def is_running(pid: int) -> bool:
    try:
        psutil.Process(pid).wait(timeout=10)
    except (psutil.NoSuchProcess, psutil.TimeoutExpired) as error:
        return isinstance(error, psutil.TimeoutExpired)
    return False


def test_stopping_a_build_ends_its_compilers(tmp_path: Path) -> None:
    script = f"sleep 60 & echo $! > {tmp_path}/compiler; wait"
    run = Run(command(tmp_path, script))
    while not (tmp_path / "compiler").exists() or not (tmp_path / "compiler").read_text():
        assert run.poll() is None
    compiler = int((tmp_path / "compiler").read_text())
    run.stop()
    while (
        Path(f"/proc/{compiler}/stat").exists() and ") Z " not in Path(f"/proc/{compiler}/stat").read_text()
    ):
        pass  # it has the signal; the kernel removes it


def test_the_cpu_time_of_a_build_includes_its_compilers(tmp_path: Path) -> None:
    loop = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
    run = Run(command(tmp_path, f"sh -c '{loop}'"))
    while run.poll() is None:
        run.measure()
    assert run.poll() == 0
    assert run.consumed > 0


@pytest.mark.parametrize(
    ("script", "listing", "share"),
    [
        pytest.param(
            "echo a; echo go: downloading x; echo b", "echo a; echo b; echo c; echo d", 0.5, id="half"
        ),
        pytest.param("true", "echo a", 0.0, id="all-cached"),
        pytest.param("echo a", "false", 0.0, id="not-listed"),
    ],
)
def test_the_share_of_compiled_packages(tmp_path: Path, script: str, listing: str, share: float) -> None:
    run = Run(command(tmp_path, script, listing))
    run.listing.wait()
    run.process.wait()
    assert run.compiled() == share


def test_the_share_of_compiled_packages_is_unknown_until_they_are_listed(tmp_path: Path) -> None:
    run = Run(command(tmp_path, "echo a", "sleep 60"))
    run.process.wait()
    assert run.compiled() == 0
    run.stop()
    assert not is_running(run.listing.pid)
