"""The docker-build stand-in previews images and builds none."""

from collections.abc import Callable
from typing import Any

import pytest
from pulumi.runtime.proto import provider_pb2 as pb

from preview.plugins.docker_build_provider import DockerBuildProvider
from preview.plugins.structs import from_struct, to_struct
from preview.resources.refusals import RefusedError

TYPE, NAME = "docker-build:index:Image", "controller"
INPUTS = {"push": True, "tags": ["us-docker.pkg.dev/a/b:1"], "dockerfile": {"location": "Dockerfile"}}


def test_image_preview_echoes_the_inputs() -> None:
    provider, inputs = DockerBuildProvider(), to_struct(INPUTS)
    checked = provider.Check(pb.CheckRequest(type=TYPE, news=inputs), None)
    created = provider.Create(pb.CreateRequest(type=TYPE, properties=inputs, preview=True), None)
    updated = provider.Update(pb.UpdateRequest(type=TYPE, news=inputs, preview=True), None)
    assert list(checked.failures) == []
    assert {
        str(from_struct(struct)) for struct in (checked.inputs, created.properties, updated.properties)
    } == {str(INPUTS)}


def test_misspelled_property_fails_the_check() -> None:
    news = to_struct({**INPUTS, "dockerfile": {"locaton": "Dockerfile"}})
    checked = DockerBuildProvider().Check(pb.CheckRequest(type=TYPE, news=news), None)
    assert [failure.reason for failure in checked.failures] == [
        "dockerfile.locaton: unknown property; did you mean location?"
    ]


def test_changed_tag_is_an_update() -> None:
    old, new = to_struct(INPUTS), to_struct({**INPUTS, "tags": ["us-docker.pkg.dev/a/b:2"]})
    response = DockerBuildProvider().Diff(pb.DiffRequest(old_inputs=old, news=new), None)
    assert list(response.detailedDiff) == ["tags[0]"]
    assert list(response.replaces) == []


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
def test_building_requires_the_official_plugin(call: Callable[[DockerBuildProvider], Any]) -> None:
    with pytest.raises(RefusedError, match=f"'{NAME}'.*Docker.*pulumi plugin install resource docker-build"):
        call(DockerBuildProvider())
