"""`pulumi-resource-kubernetes` for a sandbox: real objects on a real API server, without the official plugin.

It behaves as the official plugin does (id, state, diff, server-side apply, dry-run previews, foreground
deletion). Not supported:
- awaiting, except that a CustomResourceDefinition must be established, and the kind of a custom resource
  served. A Deployment, Job or Service is done when the API server has accepted it;
- Helm releases and components that read YAML or charts (`yaml.v2.ConfigGroup`, `yaml.v2.ConfigFile`, …):
  shown in a preview, a component without its children, and refused in `up`;
- Patch and List resources, metadata.generateName, provider functions, normalization of inputs in Check.
"""

# ruff: noqa: N802 -- methods carry the names of the gRPC service

import os
from typing import Any

import grpc  # type: ignore[import-untyped]  # ships no types
from google.protobuf.empty_pb2 import Empty  # type: ignore[import-untyped]  # ships no types
from google.protobuf.struct_pb2 import Struct  # type: ignore[import-untyped]  # ships no types
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc, resource_pb2, resource_pb2_grpc

from preview.plugins.diff_responses import diff_response
from preview.plugins.serving import StandInProvider, serve
from preview.plugins.structs import from_struct, to_struct
from preview.resources import kubernetes_objects as objects
from preview.resources import kubernetes_writes as writes
from preview.resources.differences import differences
from preview.resources.kubernetes_cluster import NoClusterError, connect
from preview.resources.refusals import RefusedError
from preview.resources.values import concealed, is_known, opened
from tools.kubernetes import ApiError, ApiServer, UnknownKindError, UnreachableError

HELM_RELEASE = "kubernetes:helm.sh/v3:Release"
DELETE_SECONDS_MAX = 300.0


def _official_only(what: str) -> RefusedError:
    return RefusedError(
        f"{what}: the offline stand-in of the kubernetes provider supports this in a preview only. "
        "Install Pulumi's CLI and run `pulumi plugin install resource kubernetes` to deploy it."
    )


class KubernetesProvider(StandInProvider):
    """One configured provider; the engine starts a process for each."""

    sdk = "pulumi-kubernetes"

    def __init__(self) -> None:
        self._api: ApiServer | None = None
        self._no_cluster = "the provider is not configured"

    def Configure(
        self, request: provider_pb2.ConfigureRequest, context: Any
    ) -> provider_pb2.ConfigureResponse:
        try:
            self._api = connect(opened(from_struct(request.args)), os.environ)
        except NoClusterError as reason:
            self._no_cluster = str(reason)
        return super().Configure(request, context)

    def Check(self, request: provider_pb2.CheckRequest, context: Any) -> provider_pb2.CheckResponse:
        """Checks an object against its kind's schema and names it. Raises: RefusedError."""
        if request.type == HELM_RELEASE:
            return provider_pb2.CheckResponse(inputs=request.news)
        inputs = from_struct(request.news)
        if not request.type.endswith(f":{inputs.get('kind')}"):
            raise RefusedError(
                f"{request.type} {request.name!r}: the offline stand-in supports single objects only, not "
                "Patch or List. Declare the objects themselves or use the official plugin."
            )
        named = objects.named(inputs, from_struct(request.olds), request.name, request.randomSeed)
        return provider_pb2.CheckResponse(inputs=to_struct(named))

    def Diff(self, request: provider_pb2.DiffRequest, context: Any) -> provider_pb2.DiffResponse:
        """Returns the changed fields, and whether they replace the object."""
        old, new = from_struct(request.old_inputs), from_struct(request.news)
        changes = dict(differences(old, new))
        replacing = objects.replacing(old, changes)
        return diff_response(changes, replacing, delete_first=objects.same_address(old, new))

    def Create(self, request: provider_pb2.CreateRequest, context: Any) -> provider_pb2.CreateResponse:
        """Creates an object in the cluster, or previews it."""
        if request.preview:
            return provider_pb2.CreateResponse(properties=self._previewed(request.properties, creating=True))
        if request.type == HELM_RELEASE:
            raise _official_only(f"cannot install {request.type} {request.name!r}")
        inputs = from_struct(request.properties)
        live = writes.create(self._cluster(), opened(inputs))
        metadata = live["metadata"]
        resource_id = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
        return provider_pb2.CreateResponse(id=resource_id, properties=_state(live, inputs))

    def Update(self, request: provider_pb2.UpdateRequest, context: Any) -> provider_pb2.UpdateResponse:
        """Updates an object in the cluster, or previews it."""
        if request.preview:
            return provider_pb2.UpdateResponse(properties=self._previewed(request.news, creating=False))
        inputs = from_struct(request.news)
        live = writes.update(self._cluster(), opened(inputs))
        return provider_pb2.UpdateResponse(properties=_state(live, inputs))

    def Read(self, request: provider_pb2.ReadRequest, context: Any) -> provider_pb2.ReadResponse:
        """Refreshes or imports an object; the empty response means that it does not exist."""
        inputs, api = from_struct(request.inputs), self._cluster()
        address = objects.address(request.type, request.id, opened(from_struct(request.properties)))
        with writes.explained("read", address):
            try:
                live = api.get(address)
            except UnknownKindError:
                live = None
            if live is None:
                return provider_pb2.ReadResponse()
            inputs_read = writes.refreshed(api, inputs, live) if inputs else objects.imported(live)
        return provider_pb2.ReadResponse(
            id=request.id, properties=_state(live, inputs_read), inputs=to_struct(inputs_read)
        )

    def Delete(self, request: provider_pb2.DeleteRequest, context: Any) -> Empty:
        """Deletes an object and waits until it no longer exists."""
        address = objects.address(request.type, request.id, opened(from_struct(request.properties)))
        writes.delete(self._cluster(), address, request.timeout or DELETE_SECONDS_MAX)
        return Empty()

    def Construct(
        self, request: provider_pb2.ConstructRequest, context: Any
    ) -> provider_pb2.ConstructResponse:
        """Registers a component without its children, which only the official plugin can read."""
        if not request.dryRun:
            raise _official_only(f"cannot create {request.type} {request.name!r}")
        with grpc.insecure_channel(request.monitorEndpoint) as channel:
            registered = resource_pb2_grpc.ResourceMonitorStub(channel).RegisterResource(
                resource_pb2.RegisterResourceRequest(
                    type=request.type, name=request.name, parent=request.parent, acceptSecrets=True
                )
            )
        return provider_pb2.ConstructResponse(urn=registered.urn, state=Struct())

    def _cluster(self) -> ApiServer:
        if self._api is None:
            raise RefusedError(
                f"no cluster: {self._no_cluster}. Set KUBECONFIG or the provider's kubeconfig."
            )
        return self._api

    def _previewed(self, properties: Struct, *, creating: bool) -> Struct:
        """Returns what the API server would store, or the inputs if it cannot be asked (yet).

        An existing object of the same name is about to be replaced; a dry run of the new object would be
        merged with it.
        """
        inputs = from_struct(properties)
        if self._api is None or "kind" not in inputs or not is_known(inputs):
            return properties
        manifest = opened(inputs)
        try:
            if creating and self._api.get(manifest) is not None:
                return properties
            live = writes.apply(self._api, manifest, dry_run=True)
        except (UnreachableError, UnknownKindError):
            return properties
        except ApiError as error:
            if error.status == 404:  # its namespace does not exist yet
                return properties
            raise writes.refusal("preview", manifest, error) from error
        return _state(objects.without_server_metadata(live) if creating else live, inputs)


def _state(live: dict[str, Any], inputs: dict[str, Any]) -> Struct:
    return to_struct(concealed(objects.state(live, inputs, writes.MANAGER), inputs))


def main() -> None:
    """Serves the plug-in until the engine ends it."""
    serve(
        lambda server: provider_pb2_grpc.add_ResourceProviderServicer_to_server(KubernetesProvider(), server)
    )


if __name__ == "__main__":
    main()
