"""A state built from a plan, as if it were deployed."""

from typing import Any

from preview.prior_state import with_resources
from preview.resources.values import SECRET, SIGNATURE, UNKNOWN

STACK = "urn:pulumi:dev::muster::"
COMPONENT, CLUSTER = f"{STACK}muster:platform:Cluster::c", f"{STACK}gcp:container/cluster:Cluster::ray"
PROVIDER = f"{STACK}pulumi:providers:gcp::google"
EMPTY: dict[str, Any] = {"version": 3, "deployment": {"manifest": {"version": "v3"}}}


def planned(token: str, name: str, *, custom: bool = True, state: Any = None, **goal: Any) -> dict[str, Any]:
    inputs = {"inputDiff": {"adds": {"name": name}} if custom else {}}
    return {"goal": {"type": token, "name": name, "custom": custom, **inputs, **goal}, "state": state}


PLAN = {
    CLUSTER: planned(
        "gcp:container/cluster:Cluster",
        "ray",
        state={"name": "ray", "id": "pretended/ray"},
        parent=COMPONENT,
        protect=True,
        provider=f"{PROVIDER}::unknown",
        ignoreChanges=["nodeConfig"],
    ),
    PROVIDER: planned("pulumi:providers:gcp", "google", parent=COMPONENT),
    COMPONENT: planned("muster:platform:Cluster", "c", custom=False),
}


def resources(plan: dict[str, Any]) -> dict[str, dict[str, Any]]:
    prior_resources = with_resources(EMPTY, plan)
    assert prior_resources["deployment"]["manifest"] == EMPTY["deployment"]["manifest"]
    return {resource["urn"]: resource for resource in prior_resources["deployment"]["resources"]}


def test_resources_come_after_their_dependencies() -> None:
    assert list(resources(PLAN)) == [COMPONENT, PROVIDER, CLUSTER]


def test_resource_keeps_its_inputs_outputs_and_options() -> None:
    cluster = resources(PLAN)[CLUSTER]
    assert cluster["inputs"] == {"name": "ray"}
    assert cluster["outputs"] == {"name": "ray", "id": "pretended/ray"}
    assert (cluster["id"], cluster["protect"], cluster["parent"]) == ("pretended/ray", True, COMPONENT)
    assert "ignoreChanges" not in cluster  # an option of the program, not of the state


def test_provider_is_referenced_by_its_new_id() -> None:
    prior_resources = resources(PLAN)
    assert prior_resources[CLUSTER]["provider"] == f"{PROVIDER}::{prior_resources[PROVIDER]['id']}"


def test_resource_without_outputs_has_its_inputs_and_a_placeholder_id() -> None:
    namespace = f"{STACK}kubernetes:core/v1:Namespace::team-a"
    prior_resources = resources({namespace: planned("kubernetes:core/v1:Namespace", "team-a")})[namespace]
    assert (prior_resources["outputs"], prior_resources["id"]) == ({"name": "team-a"}, "pretended/team-a")


def test_component_has_no_id() -> None:
    assert "id" not in resources(PLAN)[COMPONENT]


def test_outputs_of_components_have_placeholders_that_other_stacks_can_read() -> None:
    state = {
        "clusterId": "ray",
        "accounts": {"nodes": UNKNOWN},
        "kubeconfig": {SIGNATURE: SECRET, "ciphertext": "v1:of-the-plan"},
    }
    component = planned("muster:platform:Cluster", "c", custom=False, state=state)
    assert resources({COMPONENT: component})[COMPONENT]["outputs"] == {
        "clusterId": "ray",
        "accounts": {"nodes": "pretended"},
        "kubeconfig": {SIGNATURE: SECRET, "plaintext": '"[secret]"'},
    }


def test_dependencies_on_resources_that_are_only_read_are_left_out() -> None:
    read = f"{STACK}pulumi:pulumi:StackReference::other"
    state = resources({CLUSTER: planned("gcp:container/cluster:Cluster", "ray", dependencies=[read])})
    assert state[CLUSTER]["dependencies"] == []
