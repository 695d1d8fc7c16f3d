"""/healthz, /readyz and /metrics over HTTP, for kubelets and Prometheus.

Served by a separate thread, which answers while a long pass blocks the event loop.
"""

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager, suppress
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app

from muster.configuration.address import Address

if TYPE_CHECKING:
    from collections.abc import Iterator
    from wsgiref.types import StartResponse, WSGIApplication

log = logging.getLogger(__name__)

CLIENT_S_MAX = 10.0  # for a request and its response
CLIENTS_MAX = 32


class Health(NamedTuple):
    """The answer to a probe; `text` describes the problem, or gives details."""

    ok: bool
    text: str


Probe = Callable[[], Health]


@contextmanager
def served(
    address: Address,
    probes: Mapping[str, Probe],
    registry: CollectorRegistry,
    client_s_max: float = CLIENT_S_MAX,
) -> "Iterator[int]":
    """Serves the probes by path, and /metrics; yields the port. Raises: OSError."""
    server = make_server(address.host, address.port, _application(probes, registry), _Server, _Handler)
    server.client_s_max = client_s_max
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
    """Ends connections that take too long, and the oldest connection if there are too many: if a probe can't
    connect, the kubelet restarts the controller."""

    daemon_threads = True
    request_queue_size = 128
    client_s_max = CLIENT_S_MAX

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._accepted: dict[socket.socket, float] = {}  # since when, oldest first
        super().__init__(*args, **kwargs)

    def process_request(self, request: Any, client_address: Any) -> None:
        for oldest in list(self._accepted)[: max(0, len(self._accepted) - CLIENTS_MAX + 1)]:
            self._end(oldest)
        self._accepted[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._accepted.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Called at least every half second, by the loop that accepts connections."""
        for request, since in list(self._accepted.items()):
            if time.monotonic() - since > self.client_s_max:
                self._end(request)

    def _end(self, request: socket.socket) -> None:
        """Wakes the thread that reads from the connection or writes to it; that thread closes it."""
        self._accepted.pop(request, None)
        with suppress(OSError):
            request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Logs no traceback: the client has disconnected, or its connection was ended."""
        log.debug("a client of %s ended early", self.server_port, exc_info=True)


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
