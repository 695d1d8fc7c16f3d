"""Rules of the cluster's DNS (GKE API: DNSConfig)."""

from collections.abc import Iterator

from settings.model.foundation.cluster import Gke
from settings.model.foundation.dns import Dns
from settings.model.stack import Settings
from settings.problems import Finding, Path
from settings.rules.registry import rule

SOURCE = "(GKE, Cloud DNS for GKE)"
DEFAULT_DOMAIN = "cluster.local"
PATH: Path = ("muster:cluster", "dns")
# Zones whose names nodes and pods resolve at Google: the metadata server, APIs and registries.
GOOGLES = ("google.internal", "googleapis.com", "gcr.io", "pkg.dev", "google.com")


@rule("cluster")
def domains_are_cloud_dns(settings: Settings) -> Iterator[Finding]:
    """A domain of your own and records outside of the cluster require `provider: cloud-dns` (GKE, "Use Cloud
    DNS for GKE"; GKE API: DNSConfig)."""
    dns = _dns(settings)
    if dns is None or dns.provider == "cloud-dns":
        return
    chosen = {
        "scope": dns.scope == "vpc",
        "domain": dns.domain,
        "additiveVpcDomain": dns.additive_vpc_domain,
    }
    for key in (key for key, value in chosen.items() if value):
        yield Finding(
            (*PATH, key),
            f"no value without provider: cloud-dns, which alone has it {SOURCE}",
            "write provider: cloud-dns, or remove it",
        )


@rule("cluster")
def domains_are_unique_in_the_vpc(settings: Settings) -> Iterator[Finding]:
    """Records of scope `vpc` have a separate domain, as the clusters of a VPC would share cluster.local; a
    second domain for the VPC belongs to scope `cluster` (GKE, "Use Cloud DNS for GKE"; GKE API:
    DNSConfig.additiveVpcScopeDnsDomain)."""
    dns = _dns(settings)
    if dns is None or dns.provider != "cloud-dns" or dns.scope != "vpc":
        return
    if dns.domain in (None, DEFAULT_DOMAIN):
        yield Finding(
            (*PATH, "domain"),
            f"a domain that no other cluster of the VPC has, other than {DEFAULT_DOMAIN} {SOURCE}",
            "choose one, such as the cluster's name and .local, or write scope: cluster",
        )
    if dns.additive_vpc_domain:
        yield Finding(
            (*PATH, "additiveVpcDomain"),
            f"no value with scope: vpc, whose `domain` can be read in the whole VPC {SOURCE}",
            "remove it, or write scope: cluster",
        )


@rule("cluster")
def domains_are_not_googles(settings: Settings) -> Iterator[Finding]:
    """The cluster's domain hides no names that its nodes and pods resolve at Google (GKE, "Use Cloud DNS for
    GKE"; Compute Engine, internal DNS)."""
    dns = _dns(settings)
    domains = {"domain": dns.domain, "additiveVpcDomain": dns.additive_vpc_domain} if dns else {}
    for key, domain in domains.items():
        for zone in GOOGLES:
            if domain and (domain == zone or domain.endswith(f".{zone}") or zone.endswith(f".{domain}")):
                yield Finding(
                    (*PATH, key),
                    f"a domain other than {zone}, whose names would no longer lead to Google {SOURCE}",
                    "choose one, such as the cluster's name and .local",
                )
                break


def _dns(settings: Settings) -> Dns | None:
    return settings.cluster.dns if isinstance(settings.cluster, Gke) else None
