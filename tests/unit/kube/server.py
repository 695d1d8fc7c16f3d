"""An HTTP server with given answers, and a kubeconfig for it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Received(NamedTuple):
    """One request; `connection` counts from 0."""

    connection: int
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class Server:
    """Answers one request after another with `answers`, which are whole HTTP answers; after the last it
    answers nothing. An empty one closes the connection."""

    def __init__(self, answers: Sequence[bytes]) -> None:
        self._answers = list(answers)
        self._connections: list[asyncio.StreamWriter] = []
        self.received: list[Received] = []

    async def serve(self, work: Callable[[str], Awaitable[None]]) -> None:
        """Runs `work` with the server's URL."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        try:
            await work(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        finally:
            server.close()
            for writer in self._connections:
                writer.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(self._connections)
        self._connections.append(writer)
        while head := (await _head(reader)):
            (method, target, _), *lines = (line.split(" ", 2) for line in head.split("\r\n"))
            headers = {line[0].rstrip(":").lower(): " ".join(line[1:]) for line in lines}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            self.received.append(Received(number, method, target, headers, body))
            if not self._answers:
                return
            answer = self._answers.pop(0)
            writer.write(answer)
            if not answer:
                writer.close()
                return


async def _head(reader: asyncio.StreamReader) -> str:
    try:
        return (await reader.readuntil(b"\r\n\r\n")).decode().rstrip("\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return ""


def answer(code: int = 200, body: Any = None, **headers: str) -> bytes:
    text = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = [f"HTTP/1.1 {code} Reason", f"Content-Length: {len(text)}", *lines]
    return "\r\n".join([*head, "", ""]).encode() + text


def kubeconfig(
    folder: Path, server: str, user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None
) -> str:
    """Writes a kubeconfig; returns its path."""
    path = folder / "kubeconfig"
    content = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
    }
    path.write_text(json.dumps(content))
    return str(path)
