"""`pulumi-resource-gcp` for previews without an account: shows what a stack declares, and creates nothing.

Every resource is checked against the SDK's properties, clusters and node pools also against GKE's API
description; a diff shows whether it would recreate the resource. Not supported: creating, changing, reading
and deleting resources, Google's defaults and validation, outputs that Google computes (they stay unknown),
and provider functions.
"""

# ruff: noqa: N802 -- methods carry the names of the gRPC service

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from preview.plugins import gke_document
from preview.plugins.diff_responses import diff_response
from preview.plugins.gcp_replacements import delete_first, replacing
from preview.plugins.problems import PropertyProblem, check_failures
from preview.plugins.sdk_properties import Sdk
from preview.plugins.serving import StandInProvider, serve
from preview.plugins.structs import from_struct, to_struct
from preview.resources.differences import differences
from preview.resources.pretence import NO_ADDRESS, NO_HOST, OBJECTS, VARIABLE
from preview.resources.refusals import RefusedError
from preview.resources.values import UNKNOWN

# Outputs that Google computes are unknown in a preview. The engine does so for missing top-level outputs; it
# would take an output in a declared block, such as the endpoint in `controlPlaneEndpointsConfig`, as unset.
CLUSTER = "gcp:container/cluster:Cluster"


def _needs_the_official_plugin(what: str) -> RefusedError:
    return RefusedError(
        f"{what}: the offline stand-in of the gcp provider supports previews only. A real project requires "
        "the official plugin: install Pulumi's CLI, run `pulumi plugin install resource gcp`, then "
        "`pulumi up`."
    )


class GcpProvider(StandInProvider):
    """Echoes inputs in a preview and refuses everything that requires a project."""

    sdk = "pulumi-gcp"

    def __init__(self) -> None:
        self._sdk = Sdk("pulumi_gcp")

    def Check(self, request: provider_pb2.CheckRequest, context: Any) -> provider_pb2.CheckResponse:
        """Checks the inputs of a resource against the SDK and GKE's API."""
        problems = self._problems(request.type, from_struct(request.news))
        return provider_pb2.CheckResponse(inputs=request.news, failures=check_failures(problems))

    def _problems(self, token: str, inputs: Mapping[str, Any]) -> list[PropertyProblem]:
        """Returns one problem per path; the SDK's are preferred, because users write its names."""
        by_path = {problem.path: problem for problem in self._sdk.problems(token, inputs)}
        if message := gke_document.MESSAGES.get(token):
            for problem in gke_document.problems(message, inputs):
                by_path.setdefault(problem.path, problem)
        return list(by_path.values())

    def Diff(self, request: provider_pb2.DiffRequest, context: Any) -> provider_pb2.DiffResponse:
        """Returns the changed inputs, and whether they replace the resource."""
        old, new = from_struct(request.old_inputs), from_struct(request.news)
        changes = dict(differences(old, new))
        recreated = replacing(request.type, old, new, changes)
        return diff_response(changes, recreated, delete_first=delete_first(old, new))

    def Create(self, request: provider_pb2.CreateRequest, context: Any) -> provider_pb2.CreateResponse:
        """Previews a new resource with its computed outputs. Raises: RefusedError outside previews."""
        if not request.preview:
            raise _needs_the_official_plugin(f"cannot create {request.type} {request.name!r}")
        outputs = _outputs(request.type, request.name, from_struct(request.properties))
        return provider_pb2.CreateResponse(id=outputs.get("id", ""), properties=to_struct(outputs))

    def Update(self, request: provider_pb2.UpdateRequest, context: Any) -> provider_pb2.UpdateResponse:
        """Previews a changed resource with its computed outputs. Raises: RefusedError outside previews."""
        if not request.preview:
            raise _needs_the_official_plugin(f"cannot change {request.type} {request.name!r}")
        old, new = from_struct(request.old_inputs), from_struct(request.news)
        computed = {key: value for key, value in from_struct(request.olds).items() if key not in old}
        outputs = _outputs(request.type, request.name, {**computed, **new})
        return provider_pb2.UpdateResponse(properties=to_struct(outputs))

    def Read(self, request: provider_pb2.ReadRequest, context: Any) -> provider_pb2.ReadResponse:
        """Returns an existing resource from the file of objects, if there is one."""
        if (objects := os.environ.get(OBJECTS)) is not None:
            existing = json.loads(Path(objects).read_text()).get(request.id)
            if existing is None:
                return provider_pb2.ReadResponse()  # the engine reports that there is no such resource
            outputs = {**_outputs(request.type, request.name, existing), "id": request.id}
            return provider_pb2.ReadResponse(
                id=request.id, inputs=to_struct(existing), properties=to_struct(outputs)
            )
        raise _needs_the_official_plugin(f"cannot read {request.type} {request.name!r}")

    def Delete(self, request: provider_pb2.DeleteRequest, context: Any) -> Any:
        """Raises: RefusedError."""
        raise _needs_the_official_plugin(f"cannot delete {request.type} {request.name!r}")

    def Invoke(self, request: provider_pb2.InvokeRequest, context: Any) -> provider_pb2.InvokeResponse:
        """Raises: RefusedError."""
        raise _needs_the_official_plugin(f"cannot call {request.tok}")


def _outputs(token: str, name: str, properties: dict[str, Any]) -> dict[str, Any]:
    return pretended(token, name, properties) if os.environ.get(VARIABLE) else previewed(token, properties)


def previewed(token: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the declared properties, with unknown values for outputs that Google adds inside them."""
    if token != CLUSTER:
        return dict(properties)
    return _with_addresses(properties, host=UNKNOWN, certificate=UNKNOWN, address=UNKNOWN)


def pretended(token: str, name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the properties as of an existing resource: with an id, and host names that never resolve."""
    outputs = {**properties, "id": f"pretended/{name}"}
    if token != CLUSTER:
        return outputs
    return _with_addresses(outputs, host=f"{name}{NO_HOST}", certificate="", address=NO_ADDRESS)


def _with_addresses(
    properties: Mapping[str, Any], host: str, certificate: str, address: str
) -> dict[str, Any]:
    endpoints = _mapping(properties.get("controlPlaneEndpointsConfig"))
    dns = {**_mapping(endpoints.get("dnsEndpointConfig")), "endpoint": host}
    return {
        **properties,
        "endpoint": host,
        "masterAuth": {**_mapping(properties.get("masterAuth")), "clusterCaCertificate": certificate},
        "controlPlaneEndpointsConfig": {**endpoints, "dnsEndpointConfig": dns},
        "privateClusterConfig": {
            **_mapping(properties.get("privateClusterConfig")),
            "privateEndpoint": address,
        },
    }


def _mapping(value: Any) -> dict[str, Any]:
    """Returns the properties below one; empty if it is unset or unknown."""
    return dict(value) if isinstance(value, Mapping) else {}


def main() -> None:
    """Serves the plug-in until the engine ends it."""
    serve(lambda server: provider_pb2_grpc.add_ResourceProviderServicer_to_server(GcpProvider(), server))


if __name__ == "__main__":
    main()
