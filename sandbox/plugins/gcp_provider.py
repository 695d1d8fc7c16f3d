"""`pulumi-resource-gcp` for previews without Google: shows what a stack declares, and makes nothing.

Left out, as only the official plugin can do it: creating, changing, reading and deleting anything in a
project, defaults and validation of Google's API, outputs that Google computes (they stay unknown), which
properties force a replacement (every difference shows as an update), and functions that look something up.
"""

# ruff: noqa: N802 -- methods carry the names of the gRPC service
from __future__ import annotations

from typing import Any

from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from sandbox.plugins.differences import diff_response, differences
from sandbox.plugins.serving import RefusedError, StandInProvider, serve
from sandbox.plugins.values import from_struct


def _needs_the_official_plugin(what: str) -> RefusedError:
    return RefusedError(
        f"{what}: the offline stand-in of the gcp provider only previews. A real project needs the official "
        "plugin: install Pulumi's own CLI, run `pulumi plugin install resource gcp` and then `pulumi up`."
    )


class GcpProvider(StandInProvider):
    """Echoes inputs in a preview and refuses everything that would need a project."""

    sdk = "pulumi-gcp"

    def Check(self, request: provider_pb2.CheckRequest, context: Any) -> provider_pb2.CheckResponse:
        return provider_pb2.CheckResponse(inputs=request.news)

    def Diff(self, request: provider_pb2.DiffRequest, context: Any) -> provider_pb2.DiffResponse:
        return diff_response(dict(differences(from_struct(request.old_inputs), from_struct(request.news))))

    def Create(self, request: provider_pb2.CreateRequest, context: Any) -> provider_pb2.CreateResponse:
        if not request.preview:
            raise _needs_the_official_plugin(f"cannot create {request.type} {request.name!r}")
        return provider_pb2.CreateResponse(properties=request.properties)

    def Update(self, request: provider_pb2.UpdateRequest, context: Any) -> provider_pb2.UpdateResponse:
        if not request.preview:
            raise _needs_the_official_plugin(f"cannot change {request.type} {request.name!r}")
        return provider_pb2.UpdateResponse(properties=request.news)

    def Read(self, request: provider_pb2.ReadRequest, context: Any) -> provider_pb2.ReadResponse:
        raise _needs_the_official_plugin(f"cannot read {request.type} {request.name!r}")

    def Delete(self, request: provider_pb2.DeleteRequest, context: Any) -> Any:
        raise _needs_the_official_plugin(f"cannot delete {request.type} {request.name!r}")

    def Invoke(self, request: provider_pb2.InvokeRequest, context: Any) -> provider_pb2.InvokeResponse:
        raise _needs_the_official_plugin(f"cannot call {request.tok}")


if __name__ == "__main__":
    serve(lambda server: provider_pb2_grpc.add_ResourceProviderServicer_to_server(GcpProvider(), server))
