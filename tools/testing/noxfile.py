"""nox sessions: one per test layer, and `flakes`.

They run in the locked environment and not in one of nox's. With the argument `shown`, the output of a layer
is shown while it runs. Otherwise it is in .muster/test-logs/<session>.log, and the end is shown of commands
that fail. With the argument `selected`, layers run the tests that take seconds or minutes, too.
"""

import argparse
import contextlib
import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nox
from nox.command import CommandFailed

from tools.testing.layers import FAST_TESTS, LAYERS, LINT, LOGS, Command, Layer
from tools.toolchain.paths import CHECKOUT
from tools.toolchain.steps import tail

nox.options.default_venv_backend = "none"
SHOWN, SELECTED = "shown", "selected"
LINES_SHOWN = 40
INTERRUPT_SECONDS_MAX = 30.0
"""Grace period after an interruption: pytest's fixtures need time to stop their clusters."""


def run(session: nox.Session, layer: Layer) -> None:
    """Runs all commands of a layer, even after a failure."""
    session.chdir(CHECKOUT)
    session.log(layer.title)
    LOGS.mkdir(parents=True, exist_ok=True)
    layer.log.unlink(missing_ok=True)
    log = None if SHOWN in session.posargs else layer.log
    commands = layer.run_commands(selected=SELECTED in session.posargs)
    with ThreadPoolExecutor(len(commands) if layer.together else 1) as pool:
        passed = all(list(pool.map(lambda command: passes(session, command, log), commands)))
    if log is not None and passed:
        session.log(tail(log, lines=1))
    if not passed:
        session.error(f"{layer.title}: failed" + (f"; log: {log}" if log else ""))


def passes(session: nox.Session, command: Command, log: Path | None) -> bool:
    """Returns whether a command exits with 0; its output is shown, or appended to a log."""
    with contextlib.ExitStack() as files:
        output = files.enter_context(log.open("a")) if log else None
        if output is not None:
            output.write(f"$ {' '.join(command)}\n")
            output.flush()
        begin = log.stat().st_size if log else 0
        try:
            session.run(
                *command,
                external=True,
                log=False,
                stdout=output,
                interrupt_timeout=INTERRUPT_SECONDS_MAX,
            )
        except CommandFailed:
            if log is not None:
                lines = log.read_bytes()[begin:].decode(errors="replace").splitlines()
                session.log("\n".join([" ".join(command), *lines[-LINES_SHOWN:]]))
            return False
    return True


def add(layer: Layer) -> None:
    """Declares the session of a layer."""

    @nox.session(name=layer.key, default=False)
    def layer_session(session: nox.Session) -> None:
        run(session, layer)


for layer in (*LAYERS, FAST_TESTS):
    add(layer)


@nox.session(default=False)
def flakes(session: nox.Session) -> None:
    """Runs layers several times in random order, in twice as many processes as there are cores."""
    parser = argparse.ArgumentParser(prog="flakes")
    parser.add_argument("layers", nargs="*", default=["unit", "simulation", "stacks"])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31))
    options = parser.parse_args(session.posargs)
    by_key = {layer.key: layer for layer in LAYERS if layer is not LINT}
    if unknown := sorted(set(options.layers) - by_key.keys()):
        parser.error(f"no layer {', '.join(unknown)}; expected {', '.join(by_key)}")
    session.chdir(CHECKOUT)
    LOGS.mkdir(parents=True, exist_ok=True)
    failures = []
    layers = [by_key[key] for key in options.layers]
    for seed in range(options.seed, options.seed + options.times):
        for layer in layers:
            log = LOGS / f"flakes-{layer.key}-{seed}.log"
            log.unlink(missing_ok=True)
            results = [passes(session, command, log) for command in in_random_order(layer, seed)]
            if not all(results):
                failures += [f"{layer.key}, seed {seed}: {line}" for line in failed_tests(log)]
            session.log(f"{layer.key}, seed {seed}: {tail(log, lines=1)}")
    if failures:
        session.error("\n".join(["unreliable tests:", *failures, f"logs: {LOGS}/flakes-*"]))


def in_random_order(layer: Layer, seed: int) -> list[Command]:
    """Returns the pytest commands of a layer with the order and the examples of a seed, in more processes
    than usual unless the tests share a cluster."""
    busy = () if layer.shared_cluster else (f"--numprocesses={2 * (os.cpu_count() or 1)}",)
    seeds = ("-p", "randomly", f"--randomly-seed={seed}", f"--hypothesis-seed={seed}")
    return [(*command, *busy, *seeds) for command in layer.commands if "pytest" in command]


def failed_tests(log: Path) -> list[str]:
    """Returns the failures in pytest's summary, or the end of a log without one."""
    lines = [line for line in log.read_text().splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return lines or [tail(log, lines=3)]
