"""Refuses all but reads, of hosts that are served, and adds headers that keep a page to itself."""

from collections.abc import Awaitable, Callable, Collection
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Middleware

LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def only_reads_of(hosts: Collection[str]) -> Middleware:
    """Returns a middleware that refuses other methods than GET and HEAD, and requests for other hosts: a
    foreign page whose name resolves to this address (DNS rebinding) could read the answers."""

    @web.middleware
    async def checked(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.method not in ("GET", "HEAD"):
            raise web.HTTPMethodNotAllowed(request.method, ("GET", "HEAD"), text="read-only: GET or HEAD\n")
        if request.body_exists:
            raise web.HTTPBadRequest(text="a read has no body: send none\n")
        host = host_of(request.headers.get("Host", ""))
        if host not in hosts:
            allowed = ", ".join(sorted(hosts))
            raise web.HTTPMisdirectedRequest(
                text=f"not served as {host!r}: expected {allowed}; muster serve --host-name NAME adds one\n"
            )
        return await handler(request)

    return checked


def host_of(header: str) -> str:
    """Returns the host of a Host header, without its port; empty if it is none."""
    try:
        parts = urlsplit(f"//{header}")
    except ValueError:
        return ""
    return (parts.hostname or "") if parts.netloc == header and parts.username is None else ""


async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Adds the headers to any answer, refusals too: a handler of aiohttp's signal on_response_prepare. Each
    connection has one request (muster/live/page/connections.py)."""
    response.headers.update(HEADERS)
    response.headers["Connection"] = "close"  # force_close() alone is too late for the header
    response.force_close()
