"""The gcp stand-in shows everything and makes nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from pulumi.runtime.proto import provider_pb2 as pb

from sandbox.plugins.gcp_provider import GcpProvider
from sandbox.plugins.serving import RefusedError
from sandbox.plugins.values import UNKNOWN, Secret, from_struct, to_struct

TYPE, NAME = "gcp:container/cluster:Cluster", "ray"
INPUTS = {"location": "us-west1", "network": UNKNOWN, "token": Secret("x")}


def test_a_preview_echoes_the_inputs_with_secrets_and_unknown_values() -> None:
    inputs = to_struct(INPUTS)
    checked = GcpProvider().Check(pb.CheckRequest(news=inputs), None)
    created = GcpProvider().Create(pb.CreateRequest(properties=inputs, preview=True), None)
    updated = GcpProvider().Update(pb.UpdateRequest(news=inputs, preview=True), None)
    assert from_struct(checked.inputs) == INPUTS
    assert from_struct(created.properties) == INPUTS
    assert from_struct(updated.properties) == INPUTS


def test_a_difference_shows_as_an_update() -> None:
    old, new = to_struct({"location": "a"}), to_struct({"location": "b"})
    response = GcpProvider().Diff(pb.DiffRequest(old_inputs=old, news=new), None)
    assert dict(response.detailedDiff) == {
        "location": pb.PropertyDiff(kind=pb.PropertyDiff.UPDATE, inputDiff=True)
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
def test_a_real_project_needs_the_official_plugin(call: Callable[[GcpProvider], Any]) -> None:
    with pytest.raises(RefusedError, match=f"{TYPE} '{NAME}'.*official plugin.*pulumi plugin install"):
        call(GcpProvider())
