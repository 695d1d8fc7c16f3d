"""Network access from and to a tenant's pods."""

from typing import Annotated, Literal

from pydantic import Field

from settings.model.base import DnsLabel, Model
from settings.model.foundation.network import Cidr

Port = Annotated[int, Field(ge=1, le=65535)]


class Destination(Model):
    """A range of addresses that pods may connect to by TCP."""

    cidr: Cidr
    """The range, such as 10.20.0.5/32 for a single address."""
    ports: tuple[Port, ...] = ()
    """Allowed ports (none: all)."""


class TenantNetwork(Model):
    """NetworkPolicies of the namespace, which allow only traffic that Ray needs and what is listed here."""

    isolated: bool = True
    """`false` declares no NetworkPolicy: every pod of the cluster can reach Ray's dashboard and job API."""
    egress: Literal["https", "google-apis", "none"] = "https"
    """Egress in addition to Ray, DNS and the metadata server: HTTPS to public addresses, for example PyPI and
    Hugging Face; only Google APIs through private.googleapis.com and restricted.googleapis.com, which your
    DNS must resolve to; or none."""
    destinations: tuple[Destination, ...] = ()
    """Further destinations, such as a database or, for autoscaling clusters, the API server."""
    clients: tuple[DnsLabel, ...] = ()
    """Namespaces whose pods may call Ray Serve in this namespace (port 8000)."""
