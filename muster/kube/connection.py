"""Requests to one API server: bytes in, bytes out, over connections that are kept open."""

import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

import aiohttp
from yarl import URL

from muster.kube.access import Access
from muster.kube.errors import ConfigError, NoAnswer, status_error

UNAUTHORIZED, UNSUCCESSFUL = 401, 300  # redirections are not followed
REQUEST_TIMEOUT_S = 30.0
# The API server ends a request after 60 s (--request-timeout). Under load a list may take most of that, and
# an earlier retry would start it from the beginning.
READ_S_MAX = 65.0
CONNECT_S_MAX = 10.0
IDLE_S_MAX = 60.0  # for which an unused connection is kept
CONNECTIONS_MAX = 200
JSON = "application/json"
HEADERS = {"Accept": JSON, "Accept-Encoding": "gzip", "User-Agent": "muster"}
# No total, as a long list may take minutes. Writers limit the time of their writes themselves.
_READ = aiohttp.ClientTimeout(connect=REQUEST_TIMEOUT_S, sock_read=READ_S_MAX)
_WRITTEN = aiohttp.ClientTimeout()
_STREAMED = aiohttp.ClientTimeout(connect=CONNECT_S_MAX)


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request to the API server."""

    method: str
    path: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = JSON


class Connection:
    """A pool of connections. Raises: NoAnswer, StatusError."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._proxy = proxy_of(access.server)
        self._session: aiohttp.ClientSession | None = None

    async def answer(self, request: Request) -> bytes:
        """Returns the body of the answer. The time for a write is up to the caller."""
        timeout = _READ if request.method == "GET" else _WRITTEN
        try:
            async with await self._begun(request, timeout) as response:
                return await response.read()
        except (aiohttp.ClientError, OSError) as error:  # also aiohttp's timeouts
            raise _no_answer(error) from error

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yields the body of the answer in pieces, as they arrive, without a timeout."""
        try:
            response = await self._begun(request, _STREAMED)
        except (aiohttp.ClientError, OSError) as error:
            raise _no_answer(error) from error
        try:
            yield _pieces(response)
        finally:
            response.close()

    async def close(self) -> None:
        """Closes the connection pool."""
        if self._session is not None:
            await self._session.close()

    async def _begun(self, request: Request, timeout: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        """Returns the answer, whose body may not have arrived yet. Renews refused credentials once."""
        response = await self._send(request, timeout)
        if response.status == UNAUTHORIZED and self._access.credentials.expire():
            response.release()
            response = await self._send(request, timeout)
        if response.status >= UNSUCCESSFUL:
            async with response:
                text = await response.read()
            retry_after = response.headers.get("Retry-After", "")
            raise status_error(response.status, text, response.reason or "", retry_after)
        return response

    async def _send(self, request: Request, timeout: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        headers = {} if request.body is None else {"Content-Type": request.content_type}
        try:
            authorization = await self._access.credentials.header()
        except ConfigError as error:
            raise NoAnswer(str(error)) from error
        if authorization is not None:
            headers["Authorization"] = authorization
        return await self._opened().request(
            request.method,
            self._url(request),
            data=request.body,
            headers=headers,
            timeout=timeout,
            allow_redirects=False,
        )

    def _url(self, request: Request) -> URL:
        query = f"?{urlencode(request.parameters)}" if request.parameters else ""
        return URL(f"{self._access.server}{request.path}{query}", encoded=True)

    def _opened(self) -> aiohttp.ClientSession:
        """Returns the session, which belongs to the running loop."""
        if self._session is None:
            pool = aiohttp.TCPConnector(
                limit=CONNECTIONS_MAX, keepalive_timeout=IDLE_S_MAX, ssl=self._access.tls or True
            )
            jar = aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(
                connector=pool, headers=HEADERS, cookie_jar=jar, proxy=self._proxy
            )
        return self._session


async def _pieces(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    try:
        async for piece in response.content.iter_any():
            yield piece
    except (aiohttp.ClientError, OSError) as error:
        raise _no_answer(error) from error


def _no_answer(error: Exception) -> NoAnswer:
    return NoAnswer(f"{type(error).__name__} {error}".strip())


def proxy_of(server: str) -> str | None:
    """Returns the proxy that the environment names for this URL, if any ($HTTPS_PROXY, $NO_PROXY)."""
    url = urlsplit(server)
    if url.hostname is None or urllib.request.proxy_bypass(url.hostname):
        return None
    return urllib.request.getproxies().get(url.scheme)
