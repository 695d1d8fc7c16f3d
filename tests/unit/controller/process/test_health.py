"""The HTTP server: probes with an explanation, and metrics."""

import urllib.error
import urllib.request

import pytest
from prometheus_client import CollectorRegistry, Gauge

from muster.controller.process.health import Address, Health, served

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
