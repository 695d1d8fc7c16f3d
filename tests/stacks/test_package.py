"""Programs in Python and YAML that use the components of the package, across stacks."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from package.schema import schema
from preview.plan import ResourceChange
from preview.pulumi_cli import Outcome, PulumiError, Stack
from preview.resources.pretence import VARIABLE
from tests.stacks.package_programs import CLUSTER_STACK, PACKAGE, Programs

IMAGE = "registry.example/muster/controller:0.1.0"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(tmp_path_factory.mktemp("package"), {VARIABLE: "1"})


@pytest.fixture(scope="module")
def cluster_stack(programs: Programs) -> Stack:
    """The stack of the cluster, as if it were deployed."""
    stack = programs.example("cluster", project="acme-ml")
    plan = programs.folder / "plan.json"
    stack.preview(plan=plan)
    stack.assume(plan)
    return stack


def by_name(outcome: Outcome, kind: str) -> dict[str, ResourceChange]:
    return {change.name: change for change in outcome.changes if change.type.endswith(f":{kind}")}


def test_pulumi_reads_the_schema_of_the_folder(cluster_stack: Stack) -> None:
    cli = cluster_stack.cli
    read: Mapping[str, Any] = json.loads(
        cli.run(["package", "get-schema", str(PACKAGE)], cli.logs / "get-schema.log")
    )
    expected = schema()
    assert {key: read[key] for key in ("name", "version", "resources")} == {
        key: expected[key] for key in ("name", "version", "resources")
    }
    assert read["types"].keys() == expected["types"].keys()


def test_the_cluster_exports_what_other_programs_need(cluster_stack: Stack) -> None:
    outputs = cluster_stack.outputs()
    assert "https://research-research.invalid" in outputs["kubeconfig"]
    assert outputs["clusterId"] == "pretended/research-research"
    assert cluster_stack.preview(expect_no_changes=True).counts == {}


@pytest.mark.thorough
def test_a_python_program_uses_the_cluster_of_another_stack(programs: Programs, cluster_stack: Stack) -> None:
    outcome = programs.example("queues", clusterStack=CLUSTER_STACK, image=IMAGE).preview()

    assert set(outcome.counts) == {"create"}
    assert set(by_name(outcome, "Tenant")) == {"team-a", "team-b"}
    assert set(by_name(outcome, "ClusterQueue")) == {"queues-team-a", "queues-team-b"}
    assert set(by_name(outcome, "LocalQueue")) == {"team-a-team-a/jobs", "team-b-team-b/jobs"}
    assert set(by_name(outcome, "ResourceFlavor")) == {"queues-system", "queues-l4"}
    provider = by_name(outcome, "kubernetes")["research"]
    assert "https://research-research.invalid" in provider.after["kubeconfig"]


def test_an_output_in_place_of_a_plain_value_is_refused_by_name(
    programs: Programs, cluster_stack: Stack
) -> None:
    stack = programs.written(
        "wrong",
        packages={"muster": str(PACKAGE)},
        resources={
            "other": {"type": "pulumi:pulumi:StackReference", "properties": {"name": CLUSTER_STACK}},
            "team": {
                "type": "muster:Tenant",
                "properties": {"namespace": '${other.outputs["clusterId"]}', "queues": {"jobs": "team-a"}},
            },
        },
    )
    with pytest.raises(PulumiError, match=r"property namespace .*given an Output, expected a plain value"):
        stack.preview()


def test_a_yaml_program_names_a_wrong_input(programs: Programs) -> None:
    team = {"type": "muster:Tenant", "properties": {"namespace": "kube-team", "queues": {"jobs": "team-a"}}}
    stack = programs.written("misnamed", packages={"muster": str(PACKAGE)}, resources={"team": team})
    with pytest.raises(PulumiError, match=r"property namespace .*a namespace for the team: not default"):
        stack.preview()
