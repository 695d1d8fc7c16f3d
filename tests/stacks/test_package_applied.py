"""A program in YAML that deploys a tenant of the package into a real Kubernetes, named by another stack."""

from pathlib import Path

import pytest

from preview.pulumi_cli import SAVED_ONCE, Stack
from sandbox.cluster.kubectl import Kubectl
from tests.stacks.package_programs import CLUSTER_STACK, Programs


@pytest.mark.thorough
def test_a_yaml_program_adds_a_team_to_the_cluster_of_another_stack(
    local_stack: Stack, cluster: Kubectl, tmp_path: Path
) -> None:
    programs = Programs(tmp_path, SAVED_ONCE)
    kubeconfig = cluster.kubeconfig.read_text()
    programs.written(
        "ray-cluster", outputs={"kubeconfig": kubeconfig, "clusterId": "test", "privateAddress": "10.0.0.2"}
    ).up()
    team = programs.example("team", clusterStack=CLUSTER_STACK)

    team.up()
    queue = cluster.run("get", "localqueue/jobs", "--namespace=team-c", "-o", "jsonpath={.spec.clusterQueue}")
    assert queue == "team-a"
    assert team.outputs() == {"namespace": "team-c"}
    assert team.preview(expect_no_changes=True).counts == {}

    # Deleting its objects by the stack would wait for the namespace.
    cluster.run("delete", "namespace/team-c", "--wait=false")
