"""Ports of sandboxes and tests, several of which may start at the same time."""

import os
import socket
from pathlib import Path

import pytest

from sandbox.cluster import ports
from sandbox.cluster.ports import EPHEMERAL_PORTS, LOWEST_PORT, free_port
from sandbox.cluster.processes import listens


def test_free_ports_are_not_those_that_the_kernel_gives_to_outgoing_connections() -> None:
    """The controller manager of a sandbox ended immediately: a connection had taken its port meanwhile."""
    low, high = map(int, EPHEMERAL_PORTS.read_text().split())
    if low <= 2 * LOWEST_PORT:
        pytest.skip(f"{EPHEMERAL_PORTS} leaves no ports to choose from")
    assert not [port for port in (free_port() for _ in range(200)) if low <= port <= high]


def test_the_kernel_chooses_where_it_leaves_few_ports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = tmp_path / "range"
    narrow.write_text("1024\t65535\n")
    monkeypatch.setattr("sandbox.cluster.ports.EPHEMERAL_PORTS", narrow)
    assert free_port() > 1023


def test_a_free_port_is_free_until_it_is_bound() -> None:
    port = free_port()
    assert not listens(port)
    with socket.create_server(("127.0.0.1", port)):
        assert listens(port)


@pytest.mark.parametrize(
    ("owner", "chosen"),
    [
        pytest.param(os.getppid(), 11_112, id="of a running process"),
        pytest.param(2**22 + 1, 11_111, id="of a process that has ended"),
        pytest.param("", 11_112, id="of a process that is writing it"),
    ],
)
def test_claimed_ports_are_left_to_their_process(
    owner: object, chosen: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidates = iter([11_111, 11_112])
    monkeypatch.setattr(ports, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(ports._RANDOM, "randrange", lambda *_: next(candidates))
    claim = tmp_path / "ports" / "11111"
    claim.parent.mkdir()
    claim.write_text(str(owner))
    assert free_port() == chosen
    assert (claim.parent / str(chosen)).read_text() == str(os.getpid())
