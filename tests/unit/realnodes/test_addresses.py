"""The addresses of a sandbox's network."""

import pytest

from sandbox.realnodes.addresses import BLOCKS, Addresses, free_block

HEADER = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask"


def routes(*destinations: str) -> str:
    return "\n".join([HEADER, *(f"eth0\t{destination}\t00000000\t0001" for destination in destinations)])


@pytest.mark.parametrize(
    ("table", "block"),
    [
        pytest.param(routes(), 0, id="no routes"),
        pytest.param(routes("00000000", "0000A8C0"), 0, id="routes elsewhere"),
        pytest.param(routes("0000630A"), 1, id="the network of block 0"),
        pytest.param(routes("0000630A", "0000810A"), 2, id="and the pods of block 1"),
    ],
)
def test_the_first_block_without_a_route_is_taken(table: str, block: int) -> None:
    assert free_block(table) == Addresses(block)


def test_a_machine_without_free_blocks_is_an_error() -> None:
    taken = routes(*(f"00{block:02X}630A" for block in range(BLOCKS)))
    with pytest.raises(ValueError, match=r"10\.99\.0\.0/24 to 10\.99\.99\.0/24"):
        free_block(taken)


def test_blocks_share_no_address() -> None:
    first, second = Addresses(0), Addresses(1)
    for name in ("network", "machine", "dns", "pods", "interface"):
        assert getattr(first, name) != getattr(second, name), name
    assert {first.node(0), first.node(1), first.machine, first.dns} == {
        "10.99.0.10",
        "10.99.0.11",
        "10.99.0.1",
        "10.99.0.2",
    }
    assert first.node_pods(1) == "10.128.1.0/24"
