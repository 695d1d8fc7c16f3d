"""The package's components: what they declare, under which names, and which inputs they refuse."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pytest

from package.base import Exposed
from package.components import EXPOSED
from tests.unit.components.harness import Declarations, declare
from tests.unit.settings.builders import GOOD

SECTIONS = {key.rpartition(":")[2]: value for key, value in GOOD.items()}
PROJECT = {"project": "acme-ml"}
IMAGE = {"image": "registry.example/muster/controller:0.1.0"}
TENANT = {"namespace": "team-a", "queues": {"jobs": "team-a"}, "group": "team-a@example.com"}
# As the engine sends numbers.
POOLS = [{**SECTIONS["pools"][0], "nodes": {"min": 1.0, "max": 3.0}}, SECTIONS["pools"][1]]
INPUTS: dict[str, dict[str, Any]] = {
    "Platform": {**SECTIONS, "pools": POOLS},
    "RayCluster": {**PROJECT, "cluster": SECTIONS["cluster"], "pools": POOLS},
    "Queues": {"pools": POOLS, "queues": SECTIONS["queues"], "priorities": {"prod": 1000.0}},
    "Tenant": TENANT,
    "Controller": {**IMAGE, "priorities": {"prod": 1000.0}, "nodeSelector": {"pool": "system"}},
}
# One of the resources that matter, and its inputs.
DECLARED: dict[str, tuple[str, dict[str, Any]]] = {
    "Platform": ("ClusterQueue/one-team-a", {"metadata": {"name": "team-a"}}),
    "RayCluster": (
        "NodePool/one-system",
        {"autoscaling": {"minNodeCount": 1, "maxNodeCount": 3, "locationPolicy": "BALANCED"}},
    ),
    "Queues": ("WorkloadPriorityClass/one-prod", {"value": 1000}),
    "Tenant": ("LocalQueue/one-team-a/jobs", {"spec": {"clusterQueue": "team-a"}}),
    "Controller": ("Release/one-kuberay-operator", {"name": "kuberay-operator"}),
}
OUTPUTS = {
    "Platform": {
        *("cluster", "engine", "queues", "kubectl", "serving"),
        *("accounts", "buckets", "tenantAccounts", "tenantBuckets"),
        *("project", "location", "clusterId", "endpoint", "privateAddress", "kubeconfig"),
        *("network", "nodePools"),
    },
    "RayCluster": {"name", "location", "project", "clusterId", "kubeconfig", "privateAddress", "nodePools"},
    "Queues": {"clusterQueues", "flavors", "priorities"},
    "Tenant": {"namespace", "queues", "addresses"},
    "Controller": {"namespace", "image"},
}


def declared(kind: str, *names: str, **changed: Any) -> tuple[Declarations, list[Exposed]]:
    """Declares components of one kind; `declare` refuses two resources of one kind and name."""
    components: list[Exposed] = []

    def program() -> None:
        for name in names:
            components.append(EXPOSED[kind](name, {**INPUTS[kind], **changed}))

    return declare(program), components


@pytest.mark.parametrize("kind", EXPOSED)
def test_inputs_of_any_language_become_resources(kind: str) -> None:
    declarations, components = declared(kind, "one")
    name, inputs = DECLARED[kind]
    assert {key: declarations.inputs(name)[key] for key in inputs} == inputs
    assert set(components[0].results) == OUTPUTS[kind]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", EXPOSED)
def test_two_components_of_one_kind_share_no_name(kind: str) -> None:
    (first, _), (both, _) = declared(kind, "one"), declared(kind, "one", "two")
    assert len(both) == 2 * len(first)


def test_tenants_of_one_cluster_share_no_object_of_it() -> None:
    def program() -> None:
        for team in ("team-a", "team-b"):
            EXPOSED["Tenant"](team, {**TENANT, "namespace": team})

    objects = [
        (resource.type, resource.inputs["metadata"].get("namespace"), resource.inputs["metadata"]["name"])
        for resource in declare(program).values()
        if "metadata" in resource.inputs
    ]
    assert len(objects) == len(set(objects))


def test_a_tenants_objects_are_deleted_with_its_namespace() -> None:
    declarations, _ = declared("Tenant", "one")
    inside = {
        name: resource.deleted_with
        for name, resource in declarations.items()
        if "namespace" in resource.inputs.get("metadata", {})
    }
    assert "LocalQueue/one-team-a/jobs" in inside
    assert set(inside.values()) == {"Namespace/one-team-a"}


def test_a_tenant_on_google_cloud_has_its_account_there() -> None:
    google = {**PROJECT, "region": "us-west1", "identity": {}, "googleLabels": {"team": "a"}}
    declarations, _ = declared("Tenant", "one", **google)
    account = declarations["Account/one-team-a-ray"]
    assert account.inputs["project"] == "acme-ml"
    assert account.provider == "gcp/one-google"


def test_a_tenant_on_google_cloud_may_mount_secrets() -> None:
    """The program's own cluster is taken to have the add-on."""
    google = {**PROJECT, "region": "us-west1", "identity": {}, "secrets": [{"name": "hf-token"}]}
    declarations, _ = declared("Tenant", "one", **google)
    assert declarations["SecretIamMember/one-team-a-hf-token"].provider == "gcp/one-google"
    assert "SecretProviderClass/one-team-a/secrets" in declarations


def test_the_image_may_be_an_output() -> None:
    def program() -> None:
        EXPOSED["Controller"]("one", {"image": pulumi.Output.from_input(IMAGE["image"])})

    pod = declare(program).spec("Deployment/one-muster-controller")["template"]["spec"]
    assert pod["containers"][0]["image"] == IMAGE["image"]


def with_l4(quotas: dict[str, Any]) -> dict[str, Any]:
    """Returns queues with these quotas of L4s."""
    heads = {"cpu": 8, "memory": "32Gi"}
    return {"clusterQueues": [{"name": "team-a", "quotas": {"cpu": heads, "l4": quotas}}]}


REFUSED: dict[str, tuple[str, Mapping[str, Any], str, str]] = {
    "a setting of a pool": (
        "RayCluster",
        {"pools": [{**POOLS[0], "machineType": "e2"}]},
        "pools[0].machineType",
        'given "e2"',
    ),
    "no pools": ("RayCluster", {"pools": []}, "pools", "at least one entry"),
    "an add-on's key": ("RayCluster", {"rayAddon": {"log": True}}, "rayAddon.log", "a known key"),
    "a cohort without a name": (
        "Queues",
        {"queues": {**SECTIONS["queues"], "cohorts": [{}]}},
        "queues.cohorts[0].name",
        "required",
    ),
    "a flavor without a pool": (
        "Queues",
        {"queues": {"clusterQueues": [{"name": "team-a", "quotas": {"h100": {"cpu": 8}}}]}},
        "queues.clusterQueues[0].quotas.h100",
        "flavor",
    ),
    "GPUs without the CPUs of their nodes": (
        "Queues",
        {"queues": with_l4({"nvidia.com/gpu": 4})},
        "queues.clusterQueues[0].quotas.l4",
        "quota of cpu and memory in this flavor too",
    ),
    "pools without one for the operators": (
        "RayCluster",
        {"pools": [{**POOLS[0], "provisioning": "spot"}]},
        "pools",
        "on-demand",
    ),
    "a priority's value": ("Queues", {"priorities": {"prod": "high"}}, "priorities.prod", "a whole number"),
    "a namespace of the system": ("Tenant", {"namespace": "kube-team"}, "namespace", "not default"),
    "Google Cloud without a project": (
        "Tenant",
        {"identity": {}, "region": "us-west1"},
        "project",
        "the Google Cloud project",
    ),
    "Google Cloud without a region": ("Tenant", {**PROJECT, "identity": {}}, "region", "a zone such as"),
    "an image without a tag": ("Controller", {"image": "controller"}, "image", 'given "controller"'),
    "an unknown key of the controller": (
        "Controller",
        {"controller": {"x": 1}},
        "controller.x",
        "a known key",
    ),
}


@pytest.mark.parametrize(("kind", "changed", "path", "why"), REFUSED.values(), ids=REFUSED)
def test_wrong_inputs_are_refused_by_name(kind: str, changed: Mapping[str, Any], path: str, why: str) -> None:
    with pytest.raises(pulumi.InputPropertiesError) as refused:
        EXPOSED[kind]("one", {**INPUTS[kind], **changed})
    (error,) = refused.value.errors or []
    assert error["property_path"] == path
    assert why in error["reason"]


@pytest.mark.parametrize(
    ("kind", "key"), [("RayCluster", "pools"), ("Queues", "queues"), ("Tenant", "queues")]
)
def test_an_output_in_place_of_a_plain_input_is_refused_by_name(kind: str, key: str) -> None:
    errors: list[Any] = []

    def program() -> None:
        inputs = {**INPUTS[kind], key: pulumi.Output.from_input(INPUTS[kind][key])}
        with pytest.raises(pulumi.InputPropertiesError) as refused:
            EXPOSED[kind]("one", inputs)
        errors.extend(refused.value.errors or ())

    declare(program)
    assert [(error["property_path"], error["reason"].partition(",")[0]) for error in errors] == [
        (key, "given an Output")
    ]


def test_a_component_prints_the_warnings_of_its_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", printed.append)
    facts = {"n5-standard-8": {"vcpus": 8.0, "memoryGib": 32.0}}
    pools = [*POOLS, {"name": "more", "machineType": "n5-standard-8", "nodes": {"max": 2.0}}]
    queues = with_l4({"cpu": 16, "memory": "60Gi", "nvidia.com/gpu": 12})
    declared("Queues", "one", machineTypes=facts, pools=pools, queues=queues)
    assert [text.splitlines()[0] for text in printed] == [
        'Queues one: queues.clusterQueues[0].quotas.l4["nvidia.com/gpu"]',
        "Queues one: machineTypes.n5-standard-8",
    ]
    assert "at most 10 of nvidia.com/gpu" in printed[0]
    assert "not known on 2026-07-01" in printed[1]
