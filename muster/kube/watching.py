"""One watch request: its events as values, bookmarks among them.

lightkube's own watch asks for no bookmarks, can't decode them, and starts the next request at once when the
server ends one, which is a tight loop where the server ends all of them at once.
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
"""How long the API server keeps a watch (timeoutSeconds). It sends a bookmark once a minute, and another two
seconds before the end (k8s.io/apiserver v0.36, pkg/storage/cacher: nextBookmarkTime). So a watch in order is
never silent for longer than this, however little happens, and the next one goes on from the bookmark."""
CONNECT_S_MAX = 10.0


@dataclass(frozen=True, slots=True)
class Event(Generic[T]):
    """`type` is ADDED, MODIFIED, DELETED or BOOKMARK. A bookmark has no object: it says that all up to
    `version` was told."""

    type: str
    version: str
    obj: T | None = None


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Version(View):
    resource_version: str = ""


class _Bookmark(View):
    """Of an object of the kind all fields may be there, empty or null."""

    metadata: _Version = _Version()


async def watch(
    client: Any, kind: Kind[T], version: str, labels: Mapping[str, Any] | None
) -> AsyncGenerator[Event[T], None]:
    """What happens after `version`, until the server ends it. First comes a bookmark of that version: the
    server goes on from there. `client` is lightkube's AsyncClient.

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
    # whoever reads the events knows how long to wait for one
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
    """httpx's own lines end at U+0085 too, which Go's JSON leaves as it is: an annotation with one would end
    a line."""
    parts: list[bytes] = []  # of the line under way: those of an object of a megabyte are many
    async for chunk in response.aiter_bytes():
        part, *more = chunk.split(b"\n")
        parts.append(part)
        for beginning in more:
            yield b"".join(parts)
            parts = [beginning]
