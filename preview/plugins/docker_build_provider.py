"""`pulumi-resource-docker-build` for previews without Docker: shows the images that a stack would build.

Properties are checked against the SDK. Not supported: building and pushing, reading the Dockerfile and its
context, and outputs that result from it (`ref` and `digest` stay unknown).
"""

# ruff: noqa: N802 -- methods carry the names of the gRPC service

from typing import Any

from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from preview.plugins.diff_responses import diff_response
from preview.plugins.problems import check_failures
from preview.plugins.sdk_properties import Sdk
from preview.plugins.serving import StandInProvider, serve
from preview.plugins.structs import from_struct
from preview.resources.differences import differences
from preview.resources.refusals import RefusedError


def _needs_the_official_plugin(what: str) -> RefusedError:
    return RefusedError(
        f"{what}: the offline stand-in of the docker-build provider supports previews only. Building "
        "requires Docker and the official plugin: install Pulumi's CLI, run `pulumi plugin install resource "
        "docker-build`, then `pulumi up`; or set an existing image."
    )


class DockerBuildProvider(StandInProvider):
    """Echoes inputs in a preview and refuses everything that requires Docker."""

    sdk = "pulumi-docker-build"

    def __init__(self) -> None:
        self._sdk = Sdk("pulumi_docker_build")

    def Check(self, request: provider_pb2.CheckRequest, context: Any) -> provider_pb2.CheckResponse:
        """Checks the inputs of an image against the SDK."""
        problems = self._sdk.problems(request.type, from_struct(request.news))
        return provider_pb2.CheckResponse(inputs=request.news, failures=check_failures(problems))

    def Diff(self, request: provider_pb2.DiffRequest, context: Any) -> provider_pb2.DiffResponse:
        """Returns the changed inputs; a change builds the image again."""
        return diff_response(dict(differences(from_struct(request.old_inputs), from_struct(request.news))))

    def Create(self, request: provider_pb2.CreateRequest, context: Any) -> provider_pb2.CreateResponse:
        """Previews a new image. Raises: RefusedError outside previews."""
        if not request.preview:
            raise _needs_the_official_plugin(f"cannot build {request.name!r}")
        return provider_pb2.CreateResponse(properties=request.properties)

    def Update(self, request: provider_pb2.UpdateRequest, context: Any) -> provider_pb2.UpdateResponse:
        """Previews a changed image. Raises: RefusedError outside previews."""
        if not request.preview:
            raise _needs_the_official_plugin(f"cannot build {request.name!r}")
        return provider_pb2.UpdateResponse(properties=request.news)

    def Read(self, request: provider_pb2.ReadRequest, context: Any) -> provider_pb2.ReadResponse:
        """Raises: RefusedError."""
        raise _needs_the_official_plugin(f"cannot read {request.name!r}")

    def Delete(self, request: provider_pb2.DeleteRequest, context: Any) -> Any:
        """Raises: RefusedError."""
        raise _needs_the_official_plugin(f"cannot delete {request.name!r}")


def main() -> None:
    """Serves the plug-in until the engine ends it."""
    serve(
        lambda server: provider_pb2_grpc.add_ResourceProviderServicer_to_server(DockerBuildProvider(), server)
    )


if __name__ == "__main__":
    main()
