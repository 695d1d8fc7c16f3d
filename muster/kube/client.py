"""A client of the API server: typed reads, and writes as values."""

import asyncio
import logging
from asyncio import sleep
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from muster.kube.access import access
from muster.kube.connection import REQUEST_TIMEOUT_S, Connection, Request
from muster.kube.errors import NoAnswer, StatusError
from muster.kube.kinds import PODS, Kind, ObjectList
from muster.kube.requests import request_of
from muster.kube.watching import Event, lines, watch
from muster.kube.writes import Create, Delete, JsonPatch, Overwrite, Write
from muster.objects.meta import Object

log = logging.getLogger(__name__)
T = TypeVar("T", bound=Object)

DRY_RUN_S_MAX = 5.0
CHUNK = 500  # objects in one answer to a list
PAGE_RETRIES_MAX = 30  # of one page; with the API server's own three seconds that is two minutes
CAUSES_MAX, CAUSES_LENGTH_MAX = 3, 600
EXCEEDED_QUOTA = "exceeded quota: "  # in messages of the ResourceQuota plug-in
# HTTP status codes
FORBIDDEN, NOT_FOUND, CONFLICT, INVALID, SERVER_ERROR = 403, 404, 409, 422, 500


class WriteError(Exception):
    """A write failed. `code` is the API server's HTTP status, 0 if it did not answer."""

    def __init__(self, write: Write, code: int, message: str) -> None:
        super().__init__(f"{write}: {message}")
        self.code, self.message = code, message  # of the API server
        tested = isinstance(write, JsonPatch) and code == INVALID
        replaced = isinstance(write, Overwrite) and code == INVALID and "metadata.uid" in message
        # Another writer was first, or the object was deleted: the next pass sees the new state and decides
        # again.
        self.stale = code in (NOT_FOUND, CONFLICT) or tested or replaced
        # No answer, or a server error: the write may have succeeded nevertheless.
        self.unsure = code == 0 or code >= SERVER_ERROR


class NotLeading(Exception):
    """Raised if this process does not hold the Lease, and must not write."""


def without_election() -> float:
    """Returns the time for writes without leader election."""
    return REQUEST_TIMEOUT_S


def unchanged(obj: T) -> T:
    """Returns the object."""
    return obj


class Kube:
    """Reads and writes objects. Raises: RequestError on reads; WriteError, NotLeading on writes; ConfigError.

    `write_seconds` is called before every write, and returns the time in which it must be answered; 0 if it
    must not begin. `streams` reads watches and logs, if not the connection of the other requests."""

    def __init__(
        self,
        kubeconfig: str | None,
        write_seconds: Callable[[], float] = without_election,
        *,
        context: str | None = None,
        streams: Connection | None = None,
    ) -> None:
        self.write_seconds = write_seconds
        self._connection = Connection(access(kubeconfig, context))
        self._streams = streams or self._connection

    async def list(
        self,
        kind: Kind[T],
        labels: Mapping[str, str | None] | None = None,
        namespace: str = "",
        deduplicate: Callable[[T], T] = unchanged,
    ) -> tuple[str, list[T]]:
        """Returns the list's resource version and the objects of a kind, in one namespace or in all.

        `deduplicate` returns the object to use for each listed object. It is called as the objects arrive, so
        that replaced objects do not stay in memory until the end of the list."""
        parameters = {"limit": str(CHUNK), **_selection(labels)}
        objects: list[T] = []
        while True:
            answer = await self._page(Request("GET", kind.path(namespace), parameters))
            chunk = _decoded(kind.list_decoder, answer)
            objects += map(deduplicate, chunk.items or ())
            if not chunk.metadata.continue_:
                return chunk.metadata.resource_version, objects
            parameters["continue"] = chunk.metadata.continue_

    async def current_version(self, kind: Kind[Any]) -> str:
        """Returns the resource version of a list of the kind, of which it reads one object."""
        answer = await self._answer(Request("GET", kind.path(), {"limit": "1"}))
        return _decoded(_LIST_DECODER, answer).metadata.resource_version

    async def _page(self, request: Request) -> bytes:
        """Requests a page. Retries later pages after the time that the API server asks for, as client-go does
        (rest/request.go): the first page may come from etcd, at a version that the watch cache, which serves
        the others, reaches only seconds later under load."""
        for _ in range(PAGE_RETRIES_MAX if "continue" in request.parameters else 0):
            try:
                return await self._answer(request)
            except StatusError as error:
                if not error.retry_after_s:
                    raise
                await sleep(error.retry_after_s)
        return await self._answer(request)

    def watch(
        self, kind: Kind[T], resource_version: str, labels: Mapping[str, str | None] | None = None
    ) -> AsyncGenerator[Sequence[Event[T]], None]:
        """Yields events after `resource_version`, for at most WATCH_S. Raises: msgspec.DecodeError too."""
        return watch(self._streams, kind, resource_version, _selection(labels))

    async def read(self, kind: Kind[T], key: str) -> T | None:
        """Returns the current object, or None if it does not exist."""
        namespace, _, name = key.rpartition("/")
        try:
            return _decoded(kind.decoder, await self._answer(Request("GET", kind.path(namespace, name))))
        except StatusError as error:
            if error.code == NOT_FOUND:
                return None
            raise

    async def text(self, path: str) -> str:
        """Returns the body of the answer to a GET."""
        return (await self._answer(Request("GET", path))).decode(errors="replace")

    async def log(self, pod: str, parameters: Mapping[str, str]) -> AsyncGenerator[bytes, None]:
        """Yields the lines of a pod's log, without line feeds. `parameters` are the query parameters."""
        namespace, _, name = pod.rpartition("/")
        request = Request("GET", PODS.path(namespace, name, "log"), parameters)
        async with self._streams.stream(request) as pieces:
            async for ended in lines(pieces, unfinished=True):
                for line in ended:
                    yield line

    async def perform(self, write: Write) -> Object | None:
        """Sends one write; returns the resulting object, None after a deletion."""
        seconds = self.write_seconds()
        if seconds <= 0:
            raise NotLeading(f"not leading any more, so not done: {write}")
        try:
            async with asyncio.timeout(seconds):
                return await self._send(write)
        except TimeoutError as error:
            raise WriteError(write, 0, f"no answer within {seconds:.1f} s") from error
        except StatusError as error:
            if error.code == NOT_FOUND and isinstance(write, Delete):
                return None
            raise WriteError(write, error.code, error.status.message) from error
        except NoAnswer as error:
            raise WriteError(write, 0, str(error)) from error

    async def refusal(self, create: Create) -> str | None:
        """Returns why the API server's validation or admission refuses an object, by a dry run; empty if it
        is accepted, None if that is unknown."""
        try:
            async with asyncio.timeout(DRY_RUN_S_MAX):
                await self._answer(request_of(create, dry_run=True))
        except StatusError as error:
            return _dry_run_refusal(error)
        except (NoAnswer, TimeoutError) as error:
            log.warning("dry run of a %s: %s %s", create.kind, type(error).__name__, error)
            return None
        return ""

    async def _send(self, write: Write) -> Object | None:
        answer = await self._answer(request_of(write))
        return None if isinstance(write, Delete) else _decoded(write.kind.decoder, answer)

    async def _answer(self, request: Request) -> bytes:
        return await self._connection.answer(request)

    async def close(self) -> None:
        """Closes the connections."""
        await self._connection.close()


def _dry_run_refusal(error: StatusError) -> str | None:
    """Returns why a dry run was refused, in the form of `refusal`.

    An exhausted ResourceQuota does not count, as gangs of the namespace may be preempted for this one; nor
    does a name in use."""
    code, details, text = error.code, error.status.details, error.status.message
    # admission plug-ins and policies name the object, RBAC only the resource, webhooks neither
    by_admission = code == FORBIDDEN and (details is None or bool(details.name))
    if code == CONFLICT or (by_admission and EXCEEDED_QUOTA in text):
        return ""
    if by_admission:
        return _short(text.partition(" is forbidden: ")[2] or text)
    if code == INVALID:
        causes = [f"{cause.field}: {cause.message}" for cause in (details.causes if details else None) or ()]
        return _short("; ".join(causes[:CAUSES_MAX]) or text or "it is invalid")
    log.warning("dry run: %s", text)
    return None


def _short(text: str) -> str:
    return text if len(text) <= CAUSES_LENGTH_MAX else f"{text[:CAUSES_LENGTH_MAX]}…"


D = TypeVar("D")
_LIST_DECODER = msgspec.json.Decoder(ObjectList[msgspec.Raw])  # type: ignore[type-var]  # items stay encoded


def _decoded(decoder: msgspec.json.Decoder[D], answer: bytes) -> D:
    """Raises: NoAnswer."""
    try:
        return decoder.decode(answer)
    except msgspec.DecodeError as error:
        raise NoAnswer(f"unreadable answer: {error}") from error


def _selection(labels: Mapping[str, str | None] | None) -> dict[str, str]:
    """Returns the parameter that selects objects with these labels; None: with any value."""
    if not labels:
        return {}
    terms = (label if value is None else f"{label}={value}" for label, value in labels.items())
    return {"labelSelector": ",".join(terms)}
