"""Holders of the controller's Lease."""

from tests.sandbox.conftest import Cluster

LEASE = ("get", "lease", "muster-controller", "-n", "muster-system", "-o", "jsonpath={.spec.holderIdentity}")


def holder(cluster: Cluster) -> str:
    return cluster.kubectl.run(*LEASE)


def times_waited(cluster: Cluster, name: str) -> int:
    """Returns how many times the process began to wait for the Lease: its log has all its starts. From then
    on it counts the Lease's time; before, it imports for some seconds."""
    return cluster.state.log(name).read_text().count(" waits for Lease ")
