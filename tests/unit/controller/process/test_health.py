"""The HTTP server: probes with an explanation, and metrics."""

import contextlib
import socket
import threading
import urllib.error
import urllib.request

import pytest
from prometheus_client import CollectorRegistry, Gauge

from muster.configuration.address import Address
from muster.controller.process.health import CLIENTS_MAX, Health, served

pytestmark = pytest.mark.slow

ANYWHERE = Address("127.0.0.1", 0)


def get(port: int, path: str) -> tuple[int, str]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


ANSWERS = {
    "/healthz": (200, "ok\n"),
    "/readyz": (503, "not yet\n"),
    "/other": (404, "not found; served paths: /metrics, /healthz, /readyz\n"),
}


@pytest.mark.parametrize("path", ANSWERS)
def test_probes_answer_with_a_status_and_a_text(path: str) -> None:
    probes = {"/healthz": lambda: Health(True, "ok"), "/readyz": lambda: Health(False, "not yet")}
    with served(ANYWHERE, probes, CollectorRegistry()) as port:
        assert get(port, path) == ANSWERS[path]


def test_metrics_are_served() -> None:
    registry = CollectorRegistry()
    Gauge("muster_leader", "Whether it leads.", registry=registry).set(1)
    with served(ANYWHERE, {}, registry) as port:
        status, text = get(port, "/metrics")
    assert (status, text.splitlines()[-1]) == (200, "muster_leader 1.0")


def threads() -> int:
    return sum("process_request_thread" in thread.name for thread in threading.enumerate())


def test_half_sent_requests_do_not_keep_probes_from_an_answer() -> None:
    with (
        served(ANYWHERE, {"/healthz": lambda: Health(True, "ok")}, CollectorRegistry()) as port,
        contextlib.ExitStack() as stack,
    ):
        before = threads()
        for _ in range(3 * CLIENTS_MAX):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            half.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert get(port, "/healthz") == (200, "ok\n")
        assert threads() - before < 2 * CLIENTS_MAX


def test_a_byte_now_and_then_does_not_prolong_a_request() -> None:
    with (
        served(ANYWHERE, {}, CollectorRegistry(), client_s_max=0.2) as port,
        socket.create_connection(("127.0.0.1", port), timeout=0.05) as client,
    ):
        client.sendall(b"GET /healthz HTTP/1.1\r\n")
        for _ in range(200):
            try:
                client.sendall(b"X: y\r\n")
                if not client.recv(100):
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        else:
            pytest.fail("the connection was still open after 10 s")


def test_a_port_in_use_is_an_error() -> None:
    with (
        served(ANYWHERE, {}, CollectorRegistry()) as port,
        pytest.raises(OSError, match="in use"),
        served(Address("127.0.0.1", port), {}, CollectorRegistry()),
    ):
        pass


ADDRESSES = {":8080": ("", 8080), ":65535": ("", 65535), "127.0.0.1:0": ("127.0.0.1", 0)}


@pytest.mark.parametrize("text", ADDRESSES)
def test_valid_addresses(text: str) -> None:
    assert Address.parse(text) == ADDRESSES[text]


@pytest.mark.parametrize("text", ["8080", "localhost", "host:port", ":70000", ""])
def test_invalid_addresses_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected HOST:PORT or :PORT, such as :8080, not"):
        Address.parse(text)
