"""Simulated nodes report what kubelets report; tests/nodes/test_pod_ends.py tests real nodes."""

from tests.nodes.observed_pods import check_final_phase_before_removal, end_of_a_pod
from tests.sandbox.conftest import Cluster


def test_a_deleted_pod_has_a_final_phase_before_it_is_removed(cluster: Cluster) -> None:
    check_final_phase_before_removal(end_of_a_pod(cluster.state.kubeconfig, "deleted-on-simulated-node"))
