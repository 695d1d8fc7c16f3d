"""`pulumi-language-python` without its Go module: runs the project's `__main__.py` in this interpreter.

The engine also runs policy packs, which are plugins written in Python. Not supported: virtual environments
and dependencies (this interpreter has them), the list of plugins that the program needs (they are next to the
engine), debuggers and messages of level debug, conversion of programs.
"""

# ruff: noqa: N802 -- methods carry the names of the gRPC service

import gc
import os
import runpy
import selectors
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pulumi.runtime.proto import language_pb2, language_pb2_grpc

from preview.plugins import fork_server, launch, sdks
from preview.plugins.pulumi_internals import LanguageServer, skip_work
from preview.plugins.serving import serve

CHUNK_BYTES_MAX = 64 * 1024


class ProgramServer(LanguageServer):
    """The SDK's language server for inline programs, running the program that the engine names."""

    def __init__(self, engine_address: str) -> None:
        super().__init__(program=lambda: None)
        self._engine_address = engine_address

    def Run(self, request: language_pb2.RunRequest, context: Any) -> language_pb2.RunResponse:
        """Runs the program in its folder and waits for all of its resources."""
        directory = request.info.program_directory or request.pwd
        entry_point = os.path.join(directory, request.info.entry_point)
        os.chdir(directory)
        sys.path[:0] = [directory, *sdks.folders(Path(directory))]
        fork_server.forget_other_checkout(Path(directory))
        self.program = lambda: _run(entry_point)
        request.args[:] = [self._engine_address]
        response: language_pb2.RunResponse = super().Run(request, context)  # type: ignore[no-untyped-call]
        if response.error:
            # As in the official host: the error was already logged, so bail out without repeating it.
            return language_pb2.RunResponse(bail=True)
        return response

    def InstallDependencies(
        self, request: language_pb2.InstallDependenciesRequest, context: Any
    ) -> Iterator[language_pb2.InstallDependenciesResponse]:
        """Installs nothing: this interpreter has what plugins import."""
        return iter(())

    def GeneratePackage(
        self, request: language_pb2.GeneratePackageRequest, context: Any
    ) -> language_pb2.GeneratePackageResponse:
        """Generates the SDK of a package that `pulumi package add` names."""
        sdks.generate(request.schema, request.loader_target, Path(request.directory))
        return language_pb2.GeneratePackageResponse()

    def Link(self, request: language_pb2.LinkRequest, context: Any) -> language_pb2.LinkResponse:
        """Returns the import statements of the added packages: `Run` finds them."""
        names = [f"import {sdks.module(dependency.package.name)}" for dependency in request.packages]
        return language_pb2.LinkResponse(import_instructions="\n".join(names))

    def RunPlugin(
        self, request: language_pb2.RunPluginRequest, context: Any
    ) -> Iterator[language_pb2.RunPluginResponse]:
        """Runs a plugin written in Python, such as a policy pack, until it ends or the engine hangs up."""
        command = [sys.executable, launch.__file__, request.info.program_directory, *request.args]
        environment = dict(pair.split("=", 1) for pair in request.env)
        with subprocess.Popen(
            command, cwd=request.pwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as plugin:
            if not context.add_callback(plugin.terminate):  # the engine has already hung up
                plugin.terminate()
            yield from _output(plugin)
            yield language_pb2.RunPluginResponse(exitcode=plugin.wait())


def _output(plugin: subprocess.Popen[bytes]) -> Iterator[language_pb2.RunPluginResponse]:
    """Streams the plugin's output until both streams are closed."""
    with selectors.DefaultSelector() as streams:
        for name in ("stdout", "stderr"):
            streams.register(getattr(plugin, name), selectors.EVENT_READ, name)
        while streams.get_map():
            for stream, _ in streams.select():
                chunk = os.read(stream.fd, CHUNK_BYTES_MAX)
                if not chunk:
                    streams.unregister(stream.fileobj)
                elif stream.data == "stdout":
                    yield language_pb2.RunPluginResponse(stdout=chunk)
                else:
                    yield language_pb2.RunPluginResponse(stderr=chunk)


def _run(entry_point: str) -> None:
    # The SDKs' million objects live as long as this process; collecting garbage among them takes seconds.
    gc.disable()
    runpy.run_path(entry_point, run_name="__main__")


def main() -> None:
    """Serves the plug-in until the engine ends it."""
    skip_work()
    serve(
        lambda server: language_pb2_grpc.add_LanguageRuntimeServicer_to_server(
            ProgramServer(engine_address=sys.argv[-1]), server
        )
    )


if __name__ == "__main__":
    main()
