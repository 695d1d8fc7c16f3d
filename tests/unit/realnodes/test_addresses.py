"""The addresses of a sandbox's network."""

from ipaddress import IPv4Network

import pytest

from sandbox.realnodes.addresses import Addresses, free_block

HEADER = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"


def routes(*networks: str) -> str:
    """Returns /proc/net/route of a little-endian machine with routes to these networks."""
    lines = []
    for network in map(IPv4Network, networks):
        address, mask = (x.packed[::-1].hex().upper() for x in (network.network_address, network.netmask))
        lines.append(f"eth0\t{address}\t00000000\t0001\t0\t0\t0\t{mask}\t0\t0\t0")
    return "\n".join([HEADER, *lines])


@pytest.mark.parametrize(
    ("table", "block"),
    [
        pytest.param(routes(), 0, id="no routes"),
        pytest.param(routes("0.0.0.0/0", "192.168.0.0/16"), 0, id="routes elsewhere"),
        pytest.param(routes("10.99.0.0/24", "10.128.0.0/16"), 1, id="another sandbox"),
        pytest.param(routes("10.99.0.0/24", "10.129.0.0/16"), 2, id="pods of block 1 alone"),
        pytest.param(routes("10.99.0.0/22"), 4, id="a larger network around blocks"),
        pytest.param(routes("10.128.7.0/24", "10.99.1.128/25"), 2, id="smaller networks inside blocks"),
    ],
)
def test_the_first_block_that_overlaps_with_no_route_is_taken(table: str, block: int) -> None:
    assert free_block(table) == Addresses(block)


def test_a_route_around_all_blocks_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"10\.99\.0\.0/24 to 10\.99\.99\.0/24"):
        free_block(routes("10.0.0.0/8"))


def test_blocks_share_no_address() -> None:
    first, second = Addresses(0), Addresses(1)
    for name in ("network", "machine", "gateway", "pods", "interface"):
        assert getattr(first, name) != getattr(second, name), name
    assert {first.node(0), first.node(1), first.machine, first.gateway} == {
        "10.99.0.10",
        "10.99.0.11",
        "10.99.0.1",
        "10.99.0.2",
    }
    assert first.node_pods(1) == "10.128.1.0/24"
