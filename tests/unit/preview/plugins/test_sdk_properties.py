"""Inputs checked against the properties of the installed SDKs."""

from typing import Any

import pytest

from preview.plugins.sdk_properties import ANY, PropertyType, Sdk
from preview.resources.values import UNKNOWN, Secret

GCP = Sdk("pulumi_gcp")
POOL = "gcp:container/nodePool:NodePool"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"


def test_properties_have_pulumis_names_and_the_sdks_types() -> None:
    pool_properties = GCP.properties(POOL)
    assert pool_properties is not None
    assert pool_properties["initialNodeCount"] == PropertyType("int")
    assert pool_properties["nodeLocations"] == PropertyType("list", PropertyType("str"))
    assert pool_properties["nodeConfig"] == PropertyType("message", name="NodePoolNodeConfigArgs")
    assert "node_config" not in pool_properties


@pytest.mark.parametrize(
    ("token", "property_name"),
    [
        (SUBNETWORK, "secondaryIpRanges"),
        ("gcp:storage/bucketIAMMember:BucketIAMMember", "member"),
        ("gcp:projects/iAMMember:IAMMember", "role"),
        ("gcp:artifactregistry/repositoryIamMember:RepositoryIamMember", "repository"),
        ("gcp:compute/uRLMap:URLMap", "defaultService"),
        ("gcp:compute/managedSslCertificate:ManagedSslCertificate", "managed"),
    ],
)
def test_type_is_found_by_its_token(token: str, property_name: str) -> None:
    assert property_name in (GCP.properties(token) or {})


def test_provider_with_a_single_module_is_supported() -> None:
    image = Sdk("pulumi_docker_build").properties("docker-build:index:Image")
    assert image is not None
    assert image["tags"] == PropertyType("list", PropertyType("str"))
    assert image["network"] == ANY  # a union type


def test_type_that_the_sdk_lacks_is_not_checked() -> None:
    assert list(GCP.problems("gcp:container/imaginary:Imaginary", {"whatever": 1})) == []


@pytest.mark.parametrize(
    ("inputs", "messages"),
    [
        pytest.param({"name": "l4", "nodeConfig": {"spot": True}}, [], id="valid"),
        pytest.param(
            {"nodeConfig": {"guestAccelerators": [{"tpye": "nvidia-l4", "count": 1}]}},
            ["nodeConfig.guestAccelerators[0].tpye: unknown property; did you mean type?"],
            id="misspelled",
        ),
        pytest.param(
            {"node_config": {}},
            ["node_config: unknown property; did you mean nodeConfig?"],
            id="Python's name in a dictionary",
        ),
        pytest.param(
            {"queuedProvisioning": {"on": True}},
            ["queuedProvisioning.on: unknown property; choose one of enabled"],
            id="similar to none",
        ),
        pytest.param(
            {"initialNodeCount": "3"}, ['initialNodeCount: expected a whole number, given "3"'], id="text"
        ),
        pytest.param(
            {"initialNodeCount": True}, ["initialNodeCount: expected a whole number, given true"], id="yes"
        ),
        pytest.param(
            {"nodeConfig": {"spot": 1}}, ["nodeConfig.spot: expected true or false, given 1"], id="one"
        ),
        pytest.param({"nodeConfig": []}, ["nodeConfig: expected a mapping, given a list"], id="list"),
        pytest.param(
            {"nodeLocations": "us-west1-b"},
            ['nodeLocations: expected a list, given "us-west1-b"'],
            id="no list",
        ),
        pytest.param(
            {"nodeConfig": {"labels": {"cloud/a": 1}}},
            ['nodeConfig.labels["cloud/a"]: expected text, given 1'],
            id="in a map",
        ),
        pytest.param(
            {"cluster": UNKNOWN, "nodeConfig": {"tags": [UNKNOWN]}, "autoscaling": UNKNOWN},
            [],
            id="not known",
        ),
        pytest.param({"location": None, "__defaults": []}, [], id="not set, the engine's own"),
        pytest.param(
            {"location": Secret(3), "nodeConfig": Secret({"spto": "opensesame"})},
            [
                "location: expected text, given a secret",
                "nodeConfig.spto: unknown property; did you mean spot?",
            ],
            id="secrets are not shown",
        ),
    ],
)
def test_unknown_properties_and_wrong_types_are_found(inputs: dict[str, Any], messages: list[str]) -> None:
    assert [str(problem) for problem in GCP.problems(POOL, inputs)] == messages


def test_resource_of_another_module_is_checked() -> None:
    inputs = {
        "ipCidrRange": "10.0.0.0/20",
        "secondaryIpRanges": [{"rangeName": "pods", "ipCidr": "10.4.0.0/14"}],
    }
    assert [str(problem) for problem in GCP.problems(SUBNETWORK, inputs)] == [
        "secondaryIpRanges[0].ipCidr: unknown property; did you mean ipCidrRange?"
    ]


def test_missing_sdk_is_an_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="pulumi_nothing"):
        Sdk("pulumi_nothing")
