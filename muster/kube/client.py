"""A client of the API server, based on lightkube: typed reads, and writes as values."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, TypeVar

import httpx2
import msgspec
from lightkube import ApiError, AsyncClient, KubeConfig
from lightkube.types import PatchType

from muster.kube.kinds import Kind
from muster.kube.watching import Event, watch
from muster.kube.writes import Create, Delete, JsonPatch, MergePatch, Overwrite, Write
from muster.objects.meta import Object

log = logging.getLogger(__name__)
T = TypeVar("T", bound=Object)

FIELD_MANAGER = "muster"
REQUEST_TIMEOUT_S = 30.0
DRY_RUN_S_MAX = 5.0
CAUSES_MAX, CAUSES_LENGTH_MAX = 3, 600
EXCEEDED_QUOTA = "exceeded quota: "  # in messages of the ResourceQuota plug-in
# HTTP status codes
FORBIDDEN, NOT_FOUND, CONFLICT, INVALID, SERVER_ERROR = 403, 404, 409, 422, 500


class WriteError(Exception):
    """A write failed. `code` is the API server's HTTP status, 0 if it did not answer."""

    def __init__(self, write: Write, code: int, message: str) -> None:
        super().__init__(f"{write}: {message}")
        self.message = message  # of the API server
        tested = isinstance(write, JsonPatch) and code == INVALID
        replaced = isinstance(write, Overwrite) and code == INVALID and "metadata.uid" in message
        # Another writer was first, or the object is gone: the next pass sees the new state and decides again.
        self.stale = code in (NOT_FOUND, CONFLICT) or tested or replaced
        # No answer, or a server error: the write may have succeeded nevertheless.
        self.unsure = code == 0 or code >= SERVER_ERROR


class NotLeading(Exception):
    """This process does not hold the Lease (any more) and must not write."""


def without_election() -> float:
    """Returns the time for writes without leader election."""
    return REQUEST_TIMEOUT_S


class Kube:
    """Reads and writes objects. Raises: lightkube.ApiError, httpx2.HTTPError on reads; WriteError, NotLeading
    on writes.

    `write_seconds` is called before every write, and returns the time in which it must be answered; 0 if it
    must not begin."""

    def __init__(self, kubeconfig: str | None, write_seconds: Callable[[], float] = without_election) -> None:
        self.write_seconds = write_seconds
        config = KubeConfig.from_file(kubeconfig) if kubeconfig else KubeConfig.from_env()
        self._client: Any = AsyncClient(
            config.get(), field_manager=FIELD_MANAGER, timeout=httpx2.Timeout(REQUEST_TIMEOUT_S)
        )
        self._client._client._client.event_hooks = {"response": [_add_content_type]}

    async def list(
        self, kind: Kind[T], labels: Mapping[str, Any] | None = None, namespace: str = "*"
    ) -> tuple[str, list[T]]:
        """Returns the list's resource version, and every object of a kind, in one namespace or in all."""
        where = {"namespace": namespace} if kind.namespaced else {}
        found = self._client.list(kind.resource, labels=labels, chunk_size=500, **where)
        objects = [item async for item in found]
        return found.resourceVersion, objects

    def watch(
        self, kind: Kind[T], resource_version: str, labels: Mapping[str, Any] | None = None
    ) -> AsyncGenerator[Event[T], None]:
        """Yields events after `resource_version`, for at most WATCH_S. Raises: msgspec.DecodeError too."""
        return watch(self._client, kind, resource_version, labels)

    async def read(self, kind: Kind[T], key: str) -> T | None:
        """Returns the current object, or None if it does not exist."""
        namespace, _, name = key.rpartition("/")
        where = {"namespace": namespace} if namespace else {}
        try:
            found: T = await self._client.get(kind.resource, name, **where)
        except ApiError as error:
            if error.status.code == NOT_FOUND:
                return None
            raise
        return found

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
        except ApiError as error:
            if error.status.code == NOT_FOUND and isinstance(write, Delete):
                return None
            raise WriteError(write, error.status.code or 0, error.status.message or "") from error
        except httpx2.HTTPError as error:
            code = error.response.status_code if isinstance(error, httpx2.HTTPStatusError) else 0
            raise WriteError(write, code, f"{type(error).__name__} {error}") from error

    async def refusal(self, create: Create) -> str | None:
        """Returns why the API server's validation or admission refuses an object, by a dry run; empty if it
        is accepted, None if that is unknown."""
        try:
            async with asyncio.timeout(DRY_RUN_S_MAX):
                body = create.kind.body(create.body)
                await self._client.create(body, namespace=_namespace(create), dry_run=True)
        except ApiError as error:
            return _dry_run_refusal(error)
        except (httpx2.HTTPError, TimeoutError) as error:
            log.warning("dry run of a %s: %s %s", create.kind, type(error).__name__, error)
            return None
        return ""

    async def _send(self, write: Write) -> Object | None:
        kind = write.kind
        if isinstance(write, Create):
            made = await self._client.create(kind.body(write.body), namespace=_namespace(write))
            return _view(kind, made)
        namespace, _, name = write.key.rpartition("/")
        where = {"namespace": namespace} if namespace else {}
        if isinstance(write, Delete):
            await self._delete(write, name, where)
            return None
        body: Any
        if isinstance(write, MergePatch | Overwrite):
            metadata = {**write.body.get("metadata", {}), **_precondition(write)}
            body, patch_type = {**write.body, "metadata": metadata}, PatchType.MERGE
        else:
            test = {"op": "test", "path": "/metadata/resourceVersion", "value": write.resource_version}
            body, patch_type = [test, *write.operations], PatchType.JSON
        target = kind.body.Status if isinstance(write, MergePatch) and write.status else kind.body
        made = await self._client.patch(target, name, body, patch_type=patch_type, **where)
        return _view(kind, made)

    async def _delete(self, write: Delete, name: str, where: Mapping[str, str]) -> None:
        """Sends DeleteOptions, for the precondition that lightkube's own delete can't state."""
        client = self._client._client
        request = client.prepare_request("delete", write.kind.resource, name=name, **where)
        request.data = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": write.grace_s,
            "preconditions": {"uid": write.uid} if write.uid else None,
        }
        response = await client.send(client.build_adapter_request(request))
        client.handle_response("delete", response, request)

    async def close(self) -> None:
        await self._client.aclose()


def _precondition(write: MergePatch | Overwrite) -> dict[str, str]:
    """Returns the patch's metadata that the API server compares with the object's."""
    if isinstance(write, Overwrite):
        return {"uid": write.uid}
    return {"resourceVersion": write.resource_version}


def _dry_run_refusal(error: ApiError) -> str | None:
    """Returns why a dry run was refused, in the form of `refusal`.

    An exhausted ResourceQuota does not count, as gangs of the namespace may be preempted for this one; nor
    does a name in use."""
    code, details, text = error.status.code, error.status.details, error.status.message or ""
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


async def _add_content_type(response: httpx2.Response) -> None:
    """Adds a Content-Type, which lightkube expects on errors; a load balancer's may have none."""
    response.headers.setdefault("Content-Type", "text/plain")


def _namespace(write: Create) -> str | None:
    namespace = write.body["metadata"].get("namespace")
    return str(namespace) if namespace else None


def _view(kind: Kind[Any], untyped: Any) -> Object:
    view: Object = msgspec.json.decode(msgspec.json.encode(untyped), type=kind.view)
    return view
