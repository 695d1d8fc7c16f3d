"""`pulumi-language-python` without its Go module: runs the project's `__main__.py` in this very interpreter.

Left out: virtual environments and dependencies (the interpreter that serves is the one that has them), the
list of plugins that the program needs (they are beside the engine), policy packs, debuggers, code generation.
"""

# ruff: noqa: N802 -- methods carry the names of the gRPC service
from __future__ import annotations

import os
import runpy
import sys
from typing import Any

from pulumi.automation._server import LanguageServer
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

from sandbox.plugins.serving import serve


class ProgramServer(LanguageServer):
    """The SDK's own language server for inline programs, given the program that the engine names."""

    def __init__(self, engine_address: str) -> None:
        super().__init__(program=lambda: None)
        self._engine_address = engine_address

    def Run(self, request: language_pb2.RunRequest, context: Any) -> language_pb2.RunResponse:
        """Runs the program in its own folder and waits for all of its resources."""
        directory = request.info.program_directory or request.pwd
        entry_point = os.path.join(directory, request.info.entry_point)
        os.chdir(directory)
        sys.path.insert(0, directory)
        self.program = lambda: _run(entry_point)
        request.args[:] = [self._engine_address]
        response: language_pb2.RunResponse = super().Run(request, context)  # type: ignore[no-untyped-call]
        if (
            response.error
        ):  # it has been logged already: as the official host does, end without saying it again
            return language_pb2.RunResponse(bail=True)
        return response


def _run(entry_point: str) -> None:
    runpy.run_path(entry_point, run_name="__main__")


if __name__ == "__main__":
    serve(
        lambda server: language_pb2_grpc.add_LanguageRuntimeServicer_to_server(
            ProgramServer(engine_address=sys.argv[-1]), server
        )
    )
