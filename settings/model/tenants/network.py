"""Whom a tenant's pods may reach, and who may reach them."""

from typing import Annotated, Literal

from pydantic import Field

from settings.model.base import DnsLabel, Model
from settings.model.foundation.network import Cidr

Port = Annotated[int, Field(ge=1, le=65535)]


class Destination(Model):
    """Addresses that pods may open connections to, by TCP."""

    cidr: Cidr
    """Such as 10.20.0.5/32 for one address."""
    ports: tuple[Port, ...] = ()
    """All ports unless given."""


class TenantNetwork(Model):
    """NetworkPolicies of the namespace: nothing passes but what Ray needs and what stands here."""

    isolated: bool = True
    """`false` declares no NetworkPolicy: Ray's dashboard and job ports then answer every pod."""
    egress: Literal["https", "google-apis", "none"] = "https"
    """Beyond Ray, DNS and the metadata server: HTTPS to public addresses, as for PyPI and Hugging Face;
    or only to Google's APIs by private.googleapis.com and restricted.googleapis.com, to which your DNS has
    to lead; or nothing."""
    destinations: tuple[Destination, ...] = ()
    """More that the pods may reach, such as a database or, for autoscaling clusters, the API server."""
    clients: tuple[DnsLabel, ...] = ()
    """Namespaces whose pods may call Ray Serve here (port 8000)."""
