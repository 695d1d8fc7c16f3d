"""One watch request, with its events and bookmarks as values."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from muster.kube.connection import Connection, Request
from muster.kube.errors import Status, StatusError
from muster.kube.kinds import Kind
from muster.objects.meta import Object, View

T = TypeVar("T", bound=Object)

WATCH_S = 30
"""The watch's timeoutSeconds. The API server sends a bookmark once a minute, and another two seconds before
the end (k8s.io/apiserver v0.36, pkg/storage/cacher: nextBookmarkTime). So a healthy watch is never silent for
longer than this, and the next one resumes from the bookmark."""


@dataclass(frozen=True, slots=True)
class Event(Generic[T]):
    """A watch event. `type` is ADDED, MODIFIED, DELETED or BOOKMARK. A bookmark has no object; it confirms
    that all events up to `version` were sent."""

    type: str
    version: str
    obj: T | None = None


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Version(View):
    resource_version: str = ""


class _Bookmark(View):
    """A bookmark's object, of the watched kind; its other fields may be empty or null."""

    metadata: _Version = _Version()


_LINES = msgspec.json.Decoder(_Line)


async def watch(
    connection: Connection, kind: Kind[T], version: str, selection: Mapping[str, str]
) -> AsyncGenerator[Sequence[Event[T]], None]:
    """Yields events after `version`, as many at a time as have arrived, until the server ends the watch. The
    first is a bookmark of `version`, once the server has accepted the request.

    Raises: RequestError, msgspec.DecodeError."""
    parameters = {
        "watch": "true",
        "timeoutSeconds": str(WATCH_S),
        "allowWatchBookmarks": "true",
        "resourceVersion": version,
        **selection,
    }
    async with connection.stream(Request("GET", kind.path(), parameters)) as pieces:
        yield [Event("BOOKMARK", version)]
        async for ended in lines(pieces):
            yield [decode(kind, line) for line in ended]


def decode(kind: Kind[T], text: bytes) -> Event[T]:
    """Raises: StatusError for an event of type ERROR, msgspec.DecodeError."""
    line = _LINES.decode(text)
    if line.type == "ERROR":
        raise StatusError(msgspec.json.decode(line.object, type=Status))
    if line.type == "BOOKMARK":
        bookmark = msgspec.json.decode(line.object, type=_Bookmark)
        return Event(line.type, bookmark.metadata.resource_version)
    obj = kind.decoder.decode(line.object)
    return Event(line.type, obj.metadata.resource_version, obj)


async def lines(pieces: AsyncIterator[bytes], *, unfinished: bool = False) -> AsyncIterator[Iterable[bytes]]:
    """Yields the lines that each piece completes, if any; with `unfinished`, also a last line without an
    end."""
    parts: list[bytes] = []  # of the current line; an object of a megabyte has many
    async for piece in pieces:
        ended, line_feed, begun = piece.rpartition(b"\n")
        if not line_feed:
            parts.append(piece)
            continue
        yield b"".join((*parts, ended)).split(b"\n")
        parts = [begun]
    if unfinished and any(parts):
        yield [b"".join(parts)]
