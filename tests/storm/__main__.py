"""Runs a storm of faults in a separate sandbox, and checks every revision of its objects."""

import argparse
import sys

from sandbox.cluster.kubectl import Kubectl
from sandbox.up import down, up
from tests.storm.storm import storm
from tools.toolchain.command import carry_out
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make storm", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="duration (default 5)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sequence of faults (default 0)")
    options = parser.parse_args(arguments)
    return carry_out("storm", lambda: _storm(options.minutes * 60, options.seed))


def _storm(seconds: float, seed: int) -> int:
    state = RunState("storm")
    try:
        up(state, "muster", scenarios=(), fresh=True)
        kubectl = Kubectl(ensure_tools(["kubectl"], Screen())["kubectl"].path, state.kubeconfig)
        wrong = storm(state, kubectl, seconds, seed, sys.stdout)
    finally:
        down(state)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
