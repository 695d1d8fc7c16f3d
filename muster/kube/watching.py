"""One watch request, with its events and bookmarks as values.

lightkube's own watch requests no bookmarks, cannot decode them, and starts the next request as soon as the
server ends one, which is a tight loop if the server ends every watch at once.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import httpx2
import msgspec
from lightkube import ApiError
from lightkube.core.selector import build_selector
from lightkube.models.meta_v1 import Status

from muster.kube.kinds import Kind
from muster.objects.meta import Object, View

T = TypeVar("T", bound=Object)

WATCH_S = 30
"""The watch's timeoutSeconds. The API server sends a bookmark once a minute, and another two seconds before
the end (k8s.io/apiserver v0.36, pkg/storage/cacher: nextBookmarkTime). So a healthy watch is never silent for
longer than this, and the next one resumes from the bookmark."""
CONNECT_S_MAX = 10.0


@dataclass(frozen=True, slots=True)
class Event(Generic[T]):
    """`type` is ADDED, MODIFIED, DELETED or BOOKMARK. A bookmark has no object; it says that all events up
    to `version` were sent."""

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


async def watch(
    client: Any, kind: Kind[T], version: str, labels: Mapping[str, Any] | None
) -> AsyncGenerator[Event[T], None]:
    """Yields events after `version` until the server ends the watch; the first is a bookmark of `version`,
    once the server has accepted the request. `client` is lightkube's AsyncClient.

    Raises: ApiError, httpx2.HTTPError, msgspec.DecodeError."""
    generic = client._client  # builds paths, credentials and errors
    request = generic.prepare_request(
        "list",
        res=kind.resource,
        namespace="*" if kind.namespaced else None,
        watch=True,
        params={
            "timeoutSeconds": WATCH_S,
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "labelSelector": build_selector(dict(labels)) if labels else None,
        },
    )
    # no read timeout here: the reader of the events has one
    request.timeout = httpx2.Timeout(CONNECT_S_MAX, read=None)
    response = await generic.send(generic.build_adapter_request(request), stream=True)
    try:
        if response.is_error:
            await response.aread()
            generic.raise_for_status(response)
        yield Event("BOOKMARK", version)
        async for line in _lines(response):
            yield decode(kind, line)
    finally:
        await response.aclose()


def decode(kind: Kind[T], text: bytes) -> Event[T]:
    """Raises: ApiError for an event of type ERROR, msgspec.DecodeError."""
    line = msgspec.json.decode(text, type=_Line)
    if line.type == "ERROR":
        status: Any = Status.from_dict(msgspec.json.decode(line.object))
        raise ApiError(status=status)
    if line.type == "BOOKMARK":
        bookmark = msgspec.json.decode(line.object, type=_Bookmark)
        return Event(line.type, bookmark.metadata.resource_version)
    obj: T = msgspec.json.decode(line.object, type=kind.resource)
    return Event(line.type, obj.metadata.resource_version, obj)


async def _lines(response: httpx2.Response) -> AsyncIterator[bytes]:
    """Yields lines that end at LF. httpx's lines also end at U+0085, which Go's JSON does not escape, so an
    annotation could end a line."""
    parts: list[bytes] = []  # of the current line; an object of a megabyte has many
    async for chunk in response.aiter_bytes():
        part, *more = chunk.split(b"\n")
        parts.append(part)
        for beginning in more:
            yield b"".join(parts)
            parts = [beginning]
