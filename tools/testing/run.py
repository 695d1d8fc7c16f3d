"""Runs test layers with nox: the lanes in parallel, the layers of each in sequence."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tools.testing.layers import LOGS, Lane, Layer, module
from tools.toolchain.paths import CHECKOUT

NOXFILE = Path(__file__).with_name("noxfile.py")
NICE = ("nice", "-n", "10")
"""Prefix of CPU-bound lanes that run next to clusters, so that the clusters get the CPU first."""
CLUSTER_LANES = (Lane.WAITING, Lane.NODES)
SHOWN, SELECTED = "shown", "selected"
"""Arguments of sessions (noxfile.py): the output of the first lane's is shown."""


def run_layers(layers: Sequence[Layer], *, selected: bool = False) -> int:
    """Runs all layers, even after a failure; returns the exit code.

    The last lines are the result and the duration of each layer, and `N passed, N failed, N skipped`, summed
    over the layers of pytest. selected: the user named the layers, so all of their tests run.
    """
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    lanes = {lane: [layer.key for layer in layers if layer.lane is lane] for lane in Lane}
    clusters = any(lanes[lane] for lane in CLUSTER_LANES)
    commands: list[tuple[str, ...]] = []
    for lane, keys in ((lane, keys) for lane, keys in lanes.items() if keys):
        priority = NICE if clusters and lane not in CLUSTER_LANES else ()
        arguments = [*([] if commands else [SHOWN]), *([SELECTED] if selected else [])]
        report = LOGS / f"{lane.name.lower()}.json"
        commands.append((*priority, *nox("--report", str(report), "--sessions", *keys, "--", *arguments)))
    code = run_together(commands)
    print("\n".join([*results(layers, LOGS.glob("*.json")), counts(LOGS.glob("*.xml"))]), flush=True)
    return code


def results(layers: Sequence[Layer], reports: Iterable[Path]) -> list[str]:
    """Returns a line for each layer, in their order, from nox's reports; a layer without a test that ran
    is skipped, with the reason."""
    sessions = [session for report in reports for session in json.loads(report.read_text())["sessions"]]
    lines = {session["name"]: _result(session) for session in sessions}
    width = max(len(layer.key) for layer in layers)
    return [f"{layer.key:<{width}}  {lines.get(layer.key, 'not run')}" for layer in layers]


def _result(session: Mapping[str, Any]) -> str:
    duration = _duration(session["duration"])
    if session["result"] != "success":
        return f"failed  {duration}"
    reason = skip_reason(LOGS.glob(f"{session['name']}*.xml"))
    return f"skipped {duration}  {reason}" if reason else f"passed  {duration}"


def skip_reason(reports: Iterable[Path]) -> str:
    """Returns the first test's reason, one line, if JUnit reports have skipped tests only; else an empty
    string."""
    cases = [case for report in reports for case in ElementTree.parse(report).getroot().iter("testcase")]
    skips = [skip for case in cases if (skip := case.find("skipped")) is not None]
    message = skips[0].get("message", "") if skips and len(skips) == len(cases) else ""
    return message.partition("\n")[0]


def _duration(seconds: float) -> str:
    minutes, seconds_over = divmod(round(seconds), 60)
    return f"{minutes:>2}:{seconds_over:02}"


def nox(*arguments: str) -> tuple[str, ...]:
    """Returns the command of nox with these arguments."""
    return module("nox", "--noxfile", str(NOXFILE), *arguments)


def run_together(commands: Iterable[Sequence[str]]) -> int:
    """Runs the commands in parallel; returns 1 if one fails. An interruption ends all of them."""
    running = [subprocess.Popen(command, cwd=CHECKOUT, start_new_session=True) for command in commands]
    try:
        codes = [child.wait() for child in running]
        return int(any(codes))
    except BaseException:  # including Ctrl-C
        for child in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGINT)
        for child in running:
            child.wait()  # nox kills what does not end in time
        raise


def counts(reports: Iterable[Path]) -> str:
    """Returns the sums of JUnit reports; an error, such as a broken fixture, counts as failed."""
    passed = failed = skipped = 0
    for report in reports:
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            tests, errors, failures, skips = (
                int(suite.get(name, "0")) for name in ("tests", "errors", "failures", "skipped")
            )
            passed += tests - errors - failures - skips
            failed += errors + failures
            skipped += skips
    return f"{passed} passed, {failed} failed, {skipped} skipped"
