"""Tenants: the namespaces of teams, and the local queues in them."""

from typing import Annotated

from pydantic import Field

from stacks.model import DnsLabel, DnsSubdomain, Model


class Tenant(Model):
    """A namespace, and its LocalQueues with the ClusterQueue each leads to."""

    namespace: DnsLabel
    queues: Annotated[dict[DnsSubdomain, DnsSubdomain], Field(min_length=1)]
