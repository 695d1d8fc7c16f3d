"""Runs a storm of faults in a separate sandbox, and checks every revision of its objects."""

import argparse
import sys

from sandbox.cluster.kubectl import Kubectl
from sandbox.realnodes.environment import CONTROLLER
from sandbox.up import down, up
from sandbox.up_real import up_real
from settings.model.operators import namespaces
from tests.storm.setting import SIMULATED, Setting, real
from tests.storm.storm import storm
from tools.toolchain.command import carry_out
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make storm", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="duration (default 5)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sequence of faults (default 0)")
    parser.add_argument("--nodes", choices=("simulated", "real"), default="simulated", help="(simulated)")
    options = parser.parse_args(arguments)
    seconds, real_nodes = options.minutes * 60, options.nodes == "real"
    return carry_out("storm", lambda: _storm(seconds, options.seed, real_nodes=real_nodes))


def _storm(seconds: float, seed: int, *, real_nodes: bool) -> int:
    state = RunState("storm")
    try:
        if real_nodes:
            up_real(state, "muster", None, fresh=True)
        else:
            up(state, "muster", scenarios=(), fresh=True)
        kubectl = Kubectl(ensure_tools(["kubectl"], Screen())["kubectl"].path, state.kubeconfig)
        setting = _on_real_nodes(kubectl) if real_nodes else SIMULATED
        wrong = storm(state, kubectl, seconds, seed, sys.stdout, setting)
    finally:
        down(state)
    print("\n".join(wrong))
    return 1 if wrong else 0


def _on_real_nodes(kubectl: Kubectl) -> Setting:
    """Stops the controller's pods, as the storm runs replicas behind proxies."""
    kubectl.run("scale", f"deployment/{CONTROLLER}", "-n", namespaces.MUSTER, "--replicas=0")
    kubectl.run("rollout", "status", f"deployment/{CONTROLLER}", "-n", namespaces.MUSTER)
    return real(tuple(node["metadata"]["name"] for node in kubectl.objects("nodes")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
