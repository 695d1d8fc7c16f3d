"""Watches over a real connection: lines, bookmarks, and a silent peer."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from muster.kube import kinds, reflector
from muster.kube.client import Kube
from muster.kube.errors import StatusError
from muster.kube.kinds import Kind
from muster.kube.reflector import Reflector
from muster.kube.store import Store
from muster.kube.watching import decode
from tests.unit.kube.server import kubeconfig

Serve = Callable[[asyncio.StreamWriter, str], Awaitable[None]]
NEXT_LINE = chr(0x85)


def line(kind: str, name: str, version: int, **annotations: str) -> bytes:
    meta = {"name": name, "resourceVersion": str(version), "uid": name, "annotations": annotations}
    event = {"type": kind, "object": {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}}
    return json.dumps(event, ensure_ascii=False).encode() + b"\n"


def followed(
    serve: Serve, tmp_path: Path, until: Callable[[Store[Any]], bool]
) -> tuple[Store[Any], list[str]]:
    """Follows namespaces of an API server that answers watches with `serve`; returns its requests."""
    requests: list[str] = []

    connections: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(asyncio.create_task(answer(reader, writer)))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        requests.append(head.split()[1])
        if "watch=true" not in head:
            body = b'{"metadata":{"resourceVersion":"100"},"items":[]}'
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n")
            writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        else:
            await serve(writer, requests[-1])
            await reader.read()  # until the client disconnects
        writer.close()
        await writer.wait_closed()

    async def story() -> Store[Any]:
        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        kube, store = Kube(kubeconfig(tmp_path, url)), Store[Any]()
        task = asyncio.create_task(Reflector(kube, kinds.NAMESPACES, store, lambda: None).run())
        end_s = time.monotonic() + 20
        while not until(store) and time.monotonic() < end_s and not task.done():
            await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await kube.close()
        await asyncio.gather(*connections)
        server.close()
        return store

    return asyncio.run(story()), requests


async def begin(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
    await writer.drain()


def test_a_silent_peer_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection stays open without data; the next one resumes from the bookmark."""
    monkeypatch.setattr(reflector, "SILENT_S_MAX", 0.3)
    watches = 0

    async def serve(writer: asyncio.StreamWriter, path: str) -> None:
        nonlocal watches
        watches += 1
        await begin(writer)
        writer.write(line("BOOKMARK", "", 150) if watches == 1 else line("ADDED", "after", 151))
        await writer.drain()

    store, requests = followed(serve, tmp_path, lambda store: bool(store.items))
    assert list(store.items) == ["after"]
    assert sum("watch=true" not in r for r in requests) == 1, "listed once"
    first, second = (r for r in requests if "watch=true" in r)
    assert "resourceVersion=100" in first
    assert "resourceVersion=150" in second
    assert "allowWatchBookmarks=true" in first
    assert "timeoutSeconds=30" in first


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    """Go does not escape U+0085, so users' annotations can put it into the middle of an event."""

    async def serve(writer: asyncio.StreamWriter, path: str) -> None:
        await begin(writer)
        text = line("ADDED", "a", 101, note=f"one{NEXT_LINE}two") + line("ADDED", "b", 102)
        for at in range(0, len(text), 7):  # regardless of the chunks
            writer.write(text[at : at + 7])
            await writer.drain()

    store, _ = followed(serve, tmp_path, lambda store: len(store.items) == 2)
    assert sorted(store.items) == ["a", "b"]
    assert store.items["a"].metadata.annotations == {"note": f"one{NEXT_LINE}two"}


def test_an_error_without_a_content_type_is_an_error(tmp_path: Path) -> None:
    answers = 0

    async def serve(writer: asyncio.StreamWriter, path: str) -> None:
        nonlocal answers
        answers += 1
        if answers == 1:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        await begin(writer)
        writer.write(line("ADDED", "a", 101))
        await writer.drain()

    store, _ = followed(serve, tmp_path, lambda store: bool(store.items))
    assert list(store.items) == ["a"]


# In the form of API servers: an empty object of the kind.
BOOKMARKS: dict[str, tuple[Kind[Any], str]] = {
    "a custom resource": (kinds.WORKLOADS, '{"kind":"Workload","metadata":{"resourceVersion":"12"}}'),
    "a Pod": (
        kinds.BOUND_PODS,
        '{"metadata":{"resourceVersion":"12","creationTimestamp":null},"spec":{"containers":null},"status":{}}',
    ),
    "a PriorityClass": (
        kinds.POD_PRIORITIES,
        '{"metadata":{"resourceVersion":"12","creationTimestamp":null},"value":0}',
    ),
}


@pytest.mark.parametrize("name", BOOKMARKS)
def test_bookmarks_are_read(name: str) -> None:
    kind, text = BOOKMARKS[name]
    event = decode(kind, f'{{"type":"BOOKMARK","object":{text}}}'.encode())
    assert (event.type, event.version, event.obj) == ("BOOKMARK", "12", None)


def test_an_error_event_is_raised() -> None:
    status = '{"kind":"Status","status":"Failure","message":"too old","reason":"Expired","code":410}'
    with pytest.raises(StatusError, match="too old") as raised:
        decode(kinds.PODS, f'{{"type":"ERROR","object":{status}}}'.encode())
    assert raised.value.code == 410
