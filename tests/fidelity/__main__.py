"""Compares forecasts of small traces with Muster's controller in virtual time, and with the real Kueue in
compressed time; and a forecast of Kueue's own performance test with a run of it. Exit code 1 if a mean wait
deviates by more than its target."""

import argparse
import os
import platform
import sys
from collections.abc import Sequence

from tests.fidelity import emulation
from tests.fidelity.calibration import assumptions, calibration
from tests.fidelity.cases import Case, cases
from tests.fidelity.history import History
from tests.fidelity.replay import forecast
from tests.fidelity.report import Pair, show, show_assumptions
from tools.toolchain.command import carry_out
from tools.toolchain.steps import Screen

JOBS = 100
MUSTER_TARGET, KUEUE_TARGET = 0.017, 0.05
PACE = 30.0
"""Seconds of the trace per second of Kueue, which lengthens Kueue's own delays by this factor."""
KUEUE_REQUEUE_S = 1.0
"""Kueue's requeueBatchPeriod: a second of real time, regardless of the pace of the trace."""
AGAINST = ("muster", "kueue", "kueue-baseline")


def main(arguments: Sequence[str]) -> int:
    chosen = _parser().parse_args(arguments)
    screen = Screen()
    load = os.getloadavg()[0]
    screen.line(f"{os.cpu_count()} cores, {platform.machine()}, load {load:.1f} at the start")
    every = [case for case in cases(chosen.jobs) if not chosen.case or case.name in chosen.case]
    pairs: list[Pair] = []
    against = chosen.against or AGAINST
    if "muster" in against:
        pairs += _muster(every)
    if "kueue" in against:
        pairs += _kueue([case for case in every if not case.delay_s], chosen.pace, screen)
    missed = [figure for pair in pairs for figure in pair.missed()]
    if "kueue-baseline" in against:
        from tests.fidelity.baseline import against_baseline  # imports the tools of a cluster

        missed += against_baseline(KUEUE_TARGET, KUEUE_REQUEUE_S, screen)
    screen.line("\n".join(("missed:", *missed)) if missed else "every target is met")
    return 1 if missed else 0


def _muster(every: Sequence[Case]) -> list[Pair]:
    plain, provisioned, *histories = emulation.play_all([calibration(), calibration(check=True), *every])
    return _pairs(every, histories, MUSTER_TARGET, plain, provisioned)


def _kueue(every: Sequence[Case], pace: float, screen: Screen) -> list[Pair]:
    from tests.fidelity import kueue_side  # imports the tools of a cluster

    (plain, *histories), lateness = kueue_side.play([calibration(), *every], pace, screen)
    screen.line(
        f"{pace:.0f} s of the trace took 1 s; submissions were up to {max(lateness.submissions_s):.2f} s "
        f"late, finishes took {sum(lateness.finishes_s) / len(lateness.finishes_s):.3f} s to write"
    )
    return _pairs(every, histories, KUEUE_TARGET, plain, requeue_s=KUEUE_REQUEUE_S * pace)


def _pairs(
    every: Sequence[Case],
    histories: Sequence[History],
    target: float,
    plain: History,
    provisioned: History | None = None,
    requeue_s: float = 0.0,
) -> list[Pair]:
    """Forecasts the cases, and prints the comparison."""
    assumed = assumptions(plain, provisioned, requeue_s)
    pairs = [
        Pair(case.name, forecast(case, assumed), history, target)
        for case, history in zip(every, histories, strict=True)
    ]
    show_assumptions(assumed, plain.engine)
    show(pairs)
    return pairs


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make fidelity", description=__doc__)
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"of each case ({JOBS})")
    parser.add_argument("--case", action="append", help="only this case; may be repeated")
    parser.add_argument("--against", action="append", choices=AGAINST, help="only this comparison")
    parser.add_argument("--pace", type=float, default=PACE, help=f"seconds of the trace in one ({PACE:.0f})")
    return parser


if __name__ == "__main__":
    sys.exit(carry_out("fidelity", lambda: main(sys.argv[1:])))
