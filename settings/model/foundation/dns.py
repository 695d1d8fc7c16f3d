"""DNS of a GKE cluster: the provider of its records, who can read them, and the cache on its nodes."""

from typing import Literal

from settings.model.base import DnsSubdomain, Model


class Dns(Model):
    """DNS of the cluster (GKE API: DNSConfig, DnsCacheConfig)."""

    provider: Literal["kube-dns", "cloud-dns"] | None = None
    """`kube-dns` serves records from pods of the cluster, `cloud-dns` from Cloud DNS on each node; GKE's
    default if unset."""
    scope: Literal["cluster", "vpc"] = "cluster"
    """With `cloud-dns`: the cluster's records can be read in the cluster only, or in the whole VPC."""
    domain: DnsSubdomain | None = None
    """With `cloud-dns`: suffix of all names in the cluster (none: cluster.local). Required with scope `vpc`,
    where it must be unique in the VPC."""
    additive_vpc_domain: DnsSubdomain | None = None
    """With `cloud-dns` and scope `cluster`: second suffix, under which headless Services can be read in the
    whole VPC."""
    node_cache: bool | None = None
    """NodeLocal DNSCache: a DNS cache on each node. If unset, GKE's default, which is true from
    1.34.1-gke.3720000 on. Changing it recreates the nodes."""
