"""The sandbox's Kubernetes client returns its connections, whatever the API server answers."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest
from lightkube import ApiError

from sandbox.cluster import kinds

CONNECTIONS_MAX = 100
"""The limit of httpx's connection pool."""


class Refusing(BaseHTTPRequestHandler):
    """Answers as an API server that is still starting."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in one packet

    def do_GET(self) -> None:
        body = json.dumps({"kind": "Status", "status": "Failure", "message": "starting", "code": 503})
        self.send_response(503)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    file = tmp_path / "kubeconfig"
    names = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}
    users = [{"name": "u", "user": {}}]
    config = {"clusters": [cluster], "users": users, "contexts": [names], "current-context": "c"}
    file.write_text(json.dumps(config))
    try:
        yield file
    finally:
        server.shutdown()
        server.server_close()


def test_refused_watches_return_their_connections(kubeconfig: Path) -> None:
    with closing(kinds.connect(kubeconfig)) as client:
        for _ in range(CONNECTIONS_MAX + 1):
            with pytest.raises((ApiError, httpx2.HTTPStatusError)):
                next(iter(client.watch(kinds.Pod, namespace="*")))
