"""Runs a storm of faults in a separate sandbox, and checks every revision of its objects."""

import argparse
import sys

from sandbox.cluster.kubectl import Kubectl
from sandbox.running import existing_names
from sandbox.up import down, up
from sandbox.up_real import up_real
from tests.storm.real_storm import storm_on_real_nodes
from tests.storm.storm import storm
from tools.toolchain.command import carry_out
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make storm", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="duration (default 5)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sequence of faults (default 0)")
    parser.add_argument(
        "--nodes",
        choices=("simulated", "real"),
        default="simulated",
        help="real: nodes, and the platform's pods on them, are killed; needs root",
    )
    options = parser.parse_args(arguments)
    return carry_out("storm", lambda: _storm(options.minutes, options.seed, options.nodes))


def _storm(minutes: float, seed: int, nodes: str) -> int:
    state, seconds = RunState("storm"), minutes * 60
    repeated = f"make storm SEED={seed} MINUTES={minutes:g}{' NODES=real' if nodes == 'real' else ''}"
    print(f"seed {seed}; to repeat it: {repeated}", flush=True)
    try:
        if nodes == "real":
            up_real(state, "muster", (), fresh=True)
        else:
            up(state, "muster", scenarios=(), fresh=True)
        kubectl = Kubectl(ensure_tools(["kubectl"], Screen())["kubectl"].path, state.kubeconfig)
        play = storm_on_real_nodes if nodes == "real" else storm
        wrong = play(state, kubectl, seconds, seed, sys.stdout)
    finally:
        if state.name in existing_names(state.checkout):
            down(state)
    print("\n".join([*wrong, *([f"to repeat it: {repeated}"] if wrong else [])]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
