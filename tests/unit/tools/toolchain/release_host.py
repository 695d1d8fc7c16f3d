"""A release host on loopback, whose answers a test chooses."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Answer:
    """An answer to a request for a file.

    `bytes_sent` is the number of bytes after which the connection ends; `stalls` keeps it open instead.
    """

    status: int = 200
    bytes_sent: int | None = None
    ranges: bool = True
    stalls: bool = False


@dataclass
class ReleaseHost:
    """The host: a path's answers in order, of which the last repeats, and the requests so far."""

    address: str
    files: dict[str, bytes]
    answers: dict[str, Sequence[Answer]] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    """Paths and `Range` headers."""
    ended: threading.Event = field(default_factory=threading.Event)

    def answer(self, path: str) -> Answer:
        """Returns the answer to the newest request for a path."""
        answers = self.answers.get(path, [Answer()])
        number = sum(asked == path for asked, _ in self.requests)
        return answers[min(number, len(answers)) - 1]


@contextmanager
def release_host(**files: bytes) -> Iterator[ReleaseHost]:
    """Serves files below `/`; an underscore in a name is a slash in its path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted_range = self.headers.get("Range", "")
            host.requests.append((self.path, wanted_range))
            answer, content = host.answer(self.path), host.files.get(self.path)
            if content is None or answer.status != 200:
                self.send_error(404 if content is None else answer.status)
                return
            start = int(wanted_range.removeprefix("bytes=").rstrip("-")) if wanted_range else 0
            if not answer.ranges:
                start = 0
            if start and start >= len(content):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            self.wfile.write(content[start:][: answer.bytes_sent])
            if answer.stalls:
                self.wfile.flush()
                host.ended.wait(10)
            self.close_connection = True

        def log_message(self, format: str, *arguments: object) -> None:
            """Prints nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    paths = {"/" + name.replace("_", "/"): content for name, content in files.items()}
    host = ReleaseHost(f"http://127.0.0.1:{server.server_address[1]}", paths)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield host
    finally:
        host.ended.set()
        server.shutdown()
        server.server_close()
