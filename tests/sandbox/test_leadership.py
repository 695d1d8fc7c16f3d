"""Two controllers on a real API server: one leads, the other takes over, and jobs go on."""

import sys

from sandbox.cluster.controller_process import NAME
from sandbox.toolchain.paths import RunState
from tests.sandbox.conftest import Cluster, rayjob

SECOND = "second-controller"
LEASE = ("get", "lease", "muster-controller", "-n", "muster-system", "-o", "jsonpath={.spec.holderIdentity}")


def holder(cluster: Cluster) -> str:
    return cluster.kubectl.run(*LEASE)


def start_second(cluster: Cluster, state: RunState) -> None:
    """Starts it with the same identity in RBAC, and another one in the Lease."""
    argv = [sys.executable, "-m", "muster", "controller", "--http-address=127.0.0.1:0"]
    environment = {
        "KUBECONFIG": str(state.root / "controller.kubeconfig"),
        "POD_NAME": SECOND,
        "POD_NAMESPACE": "muster-system",
    }
    cluster.processes.start(SECOND, argv, environment)


def test_the_other_replica_takes_over_and_hands_the_lease_back(cluster: Cluster) -> None:
    first = holder(cluster)
    start_second(cluster, cluster.state)
    waits = f"{SECOND} waits for Lease"
    cluster.until("a second one that waits", lambda: waits in cluster.state.log(SECOND).read_text())
    try:
        assert holder(cluster) == first
        cluster.processes.stop(NAME)  # by SIGTERM: it releases the Lease
        cluster.until("the second one leading", lambda: holder(cluster) == SECOND, 5)
        cluster.until_succeeded(cluster.submit(rayjob("handed-over")))
    finally:
        cluster.processes.kill(SECOND)
        cluster.restart_controller()
    cluster.until(
        "the first one leading after the killed one's Lease expired", lambda: holder(cluster) == first, 20
    )
    cluster.until_succeeded(cluster.submit(rayjob("taken-over")))
