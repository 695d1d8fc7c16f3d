"""DNS of a GKE cluster: the provider and the scope of its records, and the cache on its nodes."""

from typing import Literal

from settings.model.base import DnsSubdomain, Model


class Dns(Model):
    """DNS of the cluster (GKE API: DNSConfig, DnsCacheConfig)."""

    provider: Literal["kube-dns", "cloud-dns"] | None = None
    """`kube-dns` serves records from pods of the cluster, `cloud-dns` from Cloud DNS on each node; GKE's
    default if unset."""
    scope: Literal["cluster", "vpc"] = "cluster"
    """Scope of the records of `cloud-dns`: they can be read in the cluster only, or in the whole VPC."""
    domain: DnsSubdomain | None = None
    """Suffix of all names in the cluster, for `cloud-dns` (none: cluster.local). Required with scope `vpc`,
    where it must be unique in the VPC."""
    additive_vpc_domain: DnsSubdomain | None = None
    """Second suffix, under which the whole VPC can read headless Services; for `cloud-dns` with scope
    `cluster`."""
    node_cache: bool | None = None
    """NodeLocal DNSCache: a DNS cache on each node. If unset, GKE's default, which is true from
    1.34.1-gke.3720000 on. Changing it recreates the nodes."""
