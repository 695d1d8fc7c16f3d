"""/healthz, /readyz and /metrics over HTTP, for kubelets and Prometheus.

Served from a thread of its own: it answers while a long pass keeps the event loop busy.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app

if TYPE_CHECKING:
    from collections.abc import Iterator
    from wsgiref.types import StartResponse, WSGIApplication

log = logging.getLogger(__name__)

CLIENT_S_MAX = 10


class Health(NamedTuple):
    """The answer to a probe; `text` says what is wrong, or gives details."""

    ok: bool
    text: str


Probe = Callable[[], Health]


class Address(NamedTuple):
    """A host and port; an empty host means all interfaces."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parses `host:port` or `:port`. Raises: ValueError."""
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            raise ValueError(f"expected HOST:PORT or :PORT, such as :8080, not {text!r}")
        return cls(host, int(port))


@contextmanager
def served(address: Address, probes: Mapping[str, Probe], registry: CollectorRegistry) -> "Iterator[int]":
    """Serves the probes by path, and /metrics; yields the port. Raises: OSError."""
    server = make_server(address.host, address.port, _application(probes, registry), _Server, _Handler)
    thread = threading.Thread(target=server.serve_forever, name="health", daemon=True)
    thread.start()
    log.info("serving /metrics, %s on port %d", ", ".join(probes), server.server_port)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Handler(WSGIRequestHandler):
    timeout = CLIENT_S_MAX

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing: probes are frequent."""


def _application(probes: Mapping[str, Probe], registry: CollectorRegistry) -> "WSGIApplication":
    metrics = make_wsgi_app(registry)

    def application(environ: dict[str, Any], start_response: "StartResponse") -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == "/metrics":
            answer: Iterable[bytes] = metrics(environ, start_response)
            return answer
        probe = probes.get(path)
        if probe is None:
            status, text = "404 Not Found", f"not found; served paths: /metrics, {', '.join(probes)}"
        else:
            health = probe()
            status, text = "200 OK" if health.ok else "503 Service Unavailable", health.text
        start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
        return [f"{text}\n".encode()]

    return application
