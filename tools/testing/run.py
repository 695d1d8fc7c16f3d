"""Runs test layers with nox: in sequence, and next to them the layers that mostly wait."""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree

from tools.testing.layers import LOGS, Layer, module
from tools.toolchain.paths import CHECKOUT

NOXFILE = Path(__file__).with_name("noxfile.py")
NICE = ("nice", "-n", "10")
"""Prefix of CPU-bound layers that run next to clusters, so that the clusters get the CPU first."""


def run_layers(layers: Sequence[Layer]) -> int:
    """Runs all layers, even after a failure; returns the exit code.

    nox prints the duration of each layer. The last line is `N passed, N failed, N skipped`, summed over the
    layers of pytest.
    """
    shutil.rmtree(LOGS, ignore_errors=True)
    lanes = ([layer.key for layer in layers if layer.alongside == side] for side in (False, True))
    commands = [nox("--sessions", *keys) for keys in lanes if keys]
    if len(commands) > 1:
        commands[0] = (*NICE, *commands[0])
    code = run_together(commands)
    print(counts(LOGS.glob("*.xml")), flush=True)
    return code


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
