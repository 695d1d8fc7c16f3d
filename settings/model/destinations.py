"""Destinations of connections that pods may open."""

from ipaddress import IPv4Network
from typing import Annotated

from pydantic import AfterValidator, Field

from settings.model.base import Model, refuse
from settings.model.foundation.network import Cidr

Port = Annotated[int, Field(ge=1, le=65535)]


def _reachable(cidr: str) -> str:
    network = IPv4Network(cidr)
    if network.is_loopback or network.is_link_local or network.is_multicast:
        refuse(
            "a range that pods reach by TCP: no loopback, link-local or multicast addresses (RFC 6890)",
            "remove it; the metadata server is always allowed",
        )
    return cidr


class Destination(Model):
    """A range of addresses that pods may connect to by TCP."""

    cidr: Annotated[Cidr, AfterValidator(_reachable)]
    """The range, such as 10.20.0.5/32 for a single address."""
    ports: tuple[Port, ...] = ()
    """Allowed ports (none: all)."""
