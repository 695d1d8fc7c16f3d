"""Two controllers on a real API server: one leads, the other takes over, and jobs continue."""

import sys

import pytest

from muster.kube.lease import LEASE_S, RETRY_S
from sandbox.cluster.controller_process import NAME
from tests.sandbox.conftest import Cluster, rayjob
from tests.sandbox.leases import holder, times_waited
from tools.toolchain.paths import RunState

SECOND = "second-controller"


def start_second(cluster: Cluster, state: RunState) -> None:
    """Starts it with the same identity in RBAC, and another one in the Lease."""
    argv = [sys.executable, "-m", "muster", "controller", "--http-address=127.0.0.1:0"]
    environment = {
        "KUBECONFIG": str(state.root / "controller.kubeconfig"),
        "POD_NAME": SECOND,
        "POD_NAMESPACE": "muster-system",
    }
    cluster.processes.start(SECOND, argv, environment)


@pytest.mark.thorough
def test_the_other_replica_takes_over_and_hands_the_lease_back(cluster: Cluster) -> None:
    first = holder(cluster)
    start_second(cluster, cluster.state)
    cluster.until("a second, waiting controller", lambda: times_waited(cluster, SECOND) > 0)
    try:
        assert holder(cluster) == first
        cluster.processes.stop(NAME)  # by SIGTERM: it releases the Lease
        # long before a Lease that is not released would expire
        cluster.until("the second one leading", lambda: holder(cluster) == SECOND, LEASE_S / 2)
        cluster.until_succeeded(cluster.submit(rayjob("handed-over")))
    finally:
        before = times_waited(cluster, NAME)
        cluster.processes.kill(SECOND)
        cluster.restart_controller()
    cluster.until("the first one waiting", lambda: times_waited(cluster, NAME) > before)
    expired_s = LEASE_S + 2 * RETRY_S
    cluster.until(
        "the first one leading after the killed one's Lease expired",
        lambda: holder(cluster) == first,
        expired_s,
    )
    cluster.until_succeeded(cluster.submit(rayjob("taken-over")))
