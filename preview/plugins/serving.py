"""Serves a stand-in plugin: starts its gRPC server, prints the port, and returns refusals as errors.

The protocol: the engine starts `pulumi-resource-<name>` or `pulumi-language-<name>` with its own address as
the last argument and reads the port of the plugin's gRPC server from the first line of stdout.
Not supported: Handshake (the engine tolerates that), Cancel during a call, tracing, debuggers.
"""

# ruff: noqa: N802 -- methods carry the names of the gRPC service

import json
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.metadata import version
from typing import Any

import grpc  # type: ignore[import-untyped]  # ships no types
from google.protobuf.empty_pb2 import Empty  # type: ignore[import-untyped]  # ships no types
from pulumi.runtime.proto import ResourceProviderServicer, plugin_pb2, provider_pb2

from preview.plugins.sdk_properties import Sdk
from preview.plugins.structs import from_struct
from preview.resources.refusals import RefusedError

# Helm releases and CRDs are sent in one message; Pulumi's limit is 400 MiB (pulumi.runtime._grpc_settings).
MESSAGE_BYTES_MAX = 400 * 1024 * 1024
# The engine calls in parallel; this is the maximum number of concurrent calls.
CALLS_MAX = 32


class _RefusedAsStatus(grpc.ServerInterceptor):  # type: ignore[misc]  # grpc ships no types
    """Returns a `RefusedError` as a gRPC error with its text and without a traceback."""

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        handler = continuation(details)
        if handler is None or handler.unary_unary is None:
            return handler

        def call(request: Any, context: Any) -> Any:
            try:
                return handler.unary_unary(request, context)
            except RefusedError as refusal:
                context.abort(grpc.StatusCode.UNKNOWN, str(refusal))

        return grpc.unary_unary_rpc_method_handler(
            call,
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )


def serve(register: Callable[[Any], None]) -> None:
    """Serves on a free loopback port until the engine ends this process or exits itself.

    register: adds the servicer to the gRPC server.
    """
    server = grpc.server(
        ThreadPoolExecutor(max_workers=CALLS_MAX),
        interceptors=[_RefusedAsStatus()],
        options=[("grpc.max_receive_message_length", MESSAGE_BYTES_MAX)],
    )
    register(server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    _end_with_the_engine()
    print(port, flush=True)
    with suppress(KeyboardInterrupt):  # the engine stops a language host with SIGINT
        server.wait_for_termination()


def _end_with_the_engine(poll_seconds: float = 1.0) -> None:
    """Exits when the engine has ended: a killed engine cannot stop its plugins."""
    engine = os.getppid()

    def watch() -> None:
        while os.getppid() == engine:
            time.sleep(poll_seconds)
        os._exit(0)

    threading.Thread(target=watch, name="engine-watch", daemon=True).start()


class StandInProvider(ResourceProviderServicer):
    """Calls that are the same for every provider: configuration is echoed and never replaced.

    sdk: the Python package whose version the engine expects the plugin to have.
    """

    sdk: str

    def GetPluginInfo(self, request: Empty, context: Any) -> plugin_pb2.PluginInfo:
        """Returns the version of the SDK, as of the official plug-in."""
        return plugin_pb2.PluginInfo(version=version(self.sdk))

    def GetSchema(
        self, request: provider_pb2.GetSchemaRequest, context: Any
    ) -> provider_pb2.GetSchemaResponse:
        """Returns the schema of the provider itself, which programs in YAML declare; resources have none."""
        properties = Sdk(self.sdk.replace("-", "_")).properties("pulumi:index:Provider")
        inputs = {name: {"$ref": "pulumi.json#/Any"} for name in properties or ()}
        name, own_version = self.sdk.removeprefix("pulumi-"), version(self.sdk)
        schema = {"name": name, "version": own_version, "provider": {"inputProperties": inputs}}
        return provider_pb2.GetSchemaResponse(schema=json.dumps(schema))

    def CheckConfig(self, request: provider_pb2.CheckRequest, context: Any) -> provider_pb2.CheckResponse:
        """Accepts any configuration."""
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: provider_pb2.DiffRequest, context: Any) -> provider_pb2.DiffResponse:
        """Returns whether the configuration has changed."""
        changed = from_struct(request.old_inputs) != from_struct(request.news)
        some = provider_pb2.DiffResponse.DIFF_SOME
        none = provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=some if changed else none)

    def Configure(
        self, request: provider_pb2.ConfigureRequest, context: Any
    ) -> provider_pb2.ConfigureResponse:
        """Returns the features of the plug-in: secrets and previews."""
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    def Cancel(self, request: Empty, context: Any) -> Empty:
        """Does nothing, as no operation takes long."""
        return Empty()
