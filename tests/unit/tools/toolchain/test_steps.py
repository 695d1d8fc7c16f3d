"""The steps runner: what it prints, counts and saves, with a fake clock."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.toolchain.steps import Screen, Step, StepError, Timing, run_steps, save_timings, tail


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def takes(self, seconds: float, outcome: str = "done") -> Callable[[], str]:
        def run() -> str:
            self.now += seconds
            return outcome

        return run


def test_each_step_prints_its_name_progress_and_duration() -> None:
    clock, out = Clock(), io.StringIO()
    steps = [Step("a", "doing a", clock.takes(1.5)), Step("b", "doing b", clock.takes(20, "2 of 2"))]
    timings = run_steps(steps, Screen(out, clock), before=[Timing("environment", 0.25)])
    assert timings == [Timing("environment", 0.25), Timing("a", 1.5), Timing("b", 20.0)]
    assert out.getvalue().splitlines() == [
        "[1/3] environment: ready (0.2 s)",
        "[2/3] a: doing a ...",
        "[2/3] a: done (1.5 s)",
        "[3/3] b: doing b ...",
        "[3/3] b: 2 of 2 (20.0 s)",
    ]


def test_a_failing_step_is_named_and_ends_the_run() -> None:
    clock, out, ran = Clock(), io.StringIO(), []

    def fail() -> str:
        clock.now += 3
        raise StepError("disk full")

    def never() -> str:
        ran.append("never")
        return ""

    with pytest.raises(StepError, match="disk full"):
        run_steps([Step("a", "doing a", fail), Step("b", "doing b", never)], Screen(out, clock))
    assert out.getvalue().splitlines()[-1] == "[1/2] a: FAILED after 3.0 s"
    assert ran == []


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        pytest.param(StepError("w"), ["  why: w"], id="why"),
        pytest.param(
            StepError("w", Path("/l"), "t"), ["  why: w", "  log: /l", "  try: t"], id="why-log-and-try"
        ),
    ],
)
def test_an_error_prints_its_cause_and_remedy(error: StepError, lines: list[str]) -> None:
    assert error.explain().splitlines() == lines


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_replace_the_live_line_on_a_terminal_only() -> None:
    terminal, file = Terminal(), io.StringIO()
    Screen(terminal).line("x")
    Screen(file).line("x")
    assert terminal.getvalue() == "\r\x1b[Kx\n"
    assert file.getvalue() == "x\n"


def test_timings_are_saved_with_the_facts(tmp_path: Path) -> None:
    save_timings(tmp_path / "t.json", [Timing("a", 1.23456)], {"engine": "muster", "cores": 2})
    saved = json.loads((tmp_path / "t.json").read_text())
    assert saved == {"engine": "muster", "cores": 2, "steps": [{"step": "a", "seconds": 1.235}]}


def test_tail_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    assert tail(log) == "(no log was written)"
    log.write_text("\n".join(map(str, range(100))))
    assert tail(log, lines=2) == "98\n99"
