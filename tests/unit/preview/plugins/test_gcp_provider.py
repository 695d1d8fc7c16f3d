"""The gcp stand-in checks and previews resources, and creates nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from pulumi.runtime.proto import provider_pb2 as pb

from preview.plugins.gcp_provider import GcpProvider
from preview.plugins.structs import from_struct, to_struct
from preview.resources.pretence import VARIABLE
from preview.resources.refusals import RefusedError
from preview.resources.values import UNKNOWN, Secret

TYPE, NAME = "gcp:container/cluster:Cluster", "ray"
POOL = "gcp:container/nodePool:NodePool"
INPUTS = {"location": "us-west1", "network": UNKNOWN, "clusterIpv4Cidr": Secret("10.0.0.0/14")}


def created(token: str, inputs: dict[str, Any]) -> dict[str, Any]:
    request = pb.CreateRequest(type=token, name=NAME, properties=to_struct(inputs), preview=True)
    return from_struct(GcpProvider().Create(request, None).properties)


def updated(token: str, **request: dict[str, Any]) -> dict[str, Any]:
    structs = {key: to_struct(value) for key, value in request.items()}
    response = GcpProvider().Update(pb.UpdateRequest(type=token, name=NAME, preview=True, **structs), None)
    return from_struct(response.properties)


def test_preview_echoes_the_inputs_with_secrets_and_unknown_values() -> None:
    checked = GcpProvider().Check(pb.CheckRequest(type=TYPE, news=to_struct(INPUTS)), None)
    assert from_struct(checked.inputs) == INPUTS
    assert list(checked.failures) == []
    assert INPUTS.items() <= created(TYPE, INPUTS).items()
    assert INPUTS.items() <= updated(TYPE, news=INPUTS).items()


def test_invalid_inputs_fail_the_check_once_per_path() -> None:
    news = {
        "nodeConfig": {"spot": "yes", "guestAccelerators": [{"tpye": "nvidia-l4"}]},
        "placementPolicy": {"type": "TIGHT"},
    }
    checked = GcpProvider().Check(pb.CheckRequest(type=POOL, news=to_struct(news)), None)
    assert sorted(failure.reason for failure in checked.failures) == [
        "nodeConfig.guestAccelerators[0].tpye: unknown property; did you mean type?",
        'nodeConfig.spot: expected true or false, given "yes"',
        'placementPolicy.type: expected one of COMPACT, given "TIGHT"',
    ]
    # The engine would print the value of a named property.
    assert {failure.property for failure in checked.failures} == {""}


def test_other_resources_are_checked_against_the_sdk() -> None:
    news = to_struct({"location": "US", "uniform": True})
    request = pb.CheckRequest(type="gcp:storage/bucket:Bucket", news=news)
    assert [f.reason.partition(";")[0] for f in GcpProvider().Check(request, None).failures] == [
        "uniform: unknown property"
    ]


def test_difference_tells_whether_it_recreates_the_resource() -> None:
    old = to_struct({"name": "l4", "nodeConfig": {"machineType": "g2-standard-4", "spot": False}})
    new = to_struct({"name": "l4", "nodeConfig": {"machineType": "g2-standard-8", "spot": True}})
    response = GcpProvider().Diff(pb.DiffRequest(type=POOL, old_inputs=old, news=new), None)
    assert dict(response.detailedDiff) == {
        "nodeConfig.machineType": pb.PropertyDiff(kind=pb.PropertyDiff.UPDATE, inputDiff=True),
        "nodeConfig.spot": pb.PropertyDiff(kind=pb.PropertyDiff.UPDATE_REPLACE, inputDiff=True),
    }
    assert list(response.replaces) == ["nodeConfig.spot"]
    assert response.deleteBeforeReplace


def test_addresses_of_a_cluster_are_unknown_before_its_creation() -> None:
    outputs = created(
        TYPE,
        {
            "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"allowExternalTraffic": True}},
            "privateClusterConfig": {"enablePrivateNodes": True},
        },
    )
    dns = {"allowExternalTraffic": True, "endpoint": UNKNOWN}
    assert outputs["controlPlaneEndpointsConfig"] == {"dnsEndpointConfig": dns}
    assert outputs["endpoint"] == UNKNOWN
    assert outputs["privateClusterConfig"] == {"enablePrivateNodes": True, "privateEndpoint": UNKNOWN}
    assert outputs["masterAuth"] == {"clusterCaCertificate": UNKNOWN}
    assert "id" not in outputs


def test_placeholder_ids_and_addresses_never_resolve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    outputs = created(TYPE, INPUTS)
    assert (outputs["id"], outputs["endpoint"]) == ("pretended/ray", "ray.invalid")
    assert created(POOL, {"name": "l4"}) == {"name": "l4", "id": "pretended/ray"}


def test_update_keeps_computed_outputs() -> None:
    olds = {"name": "l4", "version": "1.36", "instanceGroupUrls": ["https://a"]}
    news = {"name": "l4", "nodeCount": 2}
    assert updated(POOL, olds=olds, old_inputs={"name": "l4", "version": "1.36"}, news=news) == {
        **news,
        "instanceGroupUrls": ["https://a"],
    }


@pytest.mark.parametrize(
    "call",
    [
        lambda provider: provider.Create(pb.CreateRequest(type=TYPE, name=NAME), None),
        lambda provider: provider.Update(pb.UpdateRequest(type=TYPE, name=NAME), None),
        lambda provider: provider.Read(pb.ReadRequest(type=TYPE, name=NAME), None),
        lambda provider: provider.Delete(pb.DeleteRequest(type=TYPE, name=NAME), None),
    ],
    ids=["create", "update", "read", "delete"],
)
def test_real_project_requires_the_official_plugin(call: Callable[[GcpProvider], Any]) -> None:
    with pytest.raises(RefusedError, match=f"{TYPE} '{NAME}'.*official plugin.*pulumi plugin install"):
        call(GcpProvider())
