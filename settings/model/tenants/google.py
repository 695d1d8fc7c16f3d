"""Google Cloud resources of a tenant: an identity for its pods, a bucket, a Gateway for its services."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field
from typing_extensions import Doc

from settings.model.base import DNS_SUBDOMAIN, DnsLabel, DnsSubdomain, Model, matching, refuse
from settings.model.google_cloud import ID, RESOURCE, BucketName
from settings.model.regions import BucketLocation

ACCOUNT = re.compile(ID)
MEMBER = re.compile(r"(user|group|serviceAccount):[^@\s]+@[^@\s]+|domain:[^@\s]+")
OAUTH_CLIENT = re.compile(r"[0-9a-z-]+\.apps\.googleusercontent\.com")
NAME = re.compile(RESOURCE)

AccountId = Annotated[
    str,
    matching(
        ACCOUNT,
        "6 to 30 of a-z, 0-9 and '-', from a letter on, no '-' at the end (IAM: accountId)",
        "rename it",
    ),
    Doc("account ID"),
]


# Domains in which anyone can open an account (Google Accounts).
CONSUMER_DOMAINS = ("domain:gmail.com", "domain:googlemail.com")


def _member(member: str) -> str:
    if member.lower() in CONSUMER_DOMAINS:
        refuse(
            "a domain of your organization: anyone can open an account in this one",
            "write your own domain, or group:…@… for users outside of it",
        )
    if not MEMBER.fullmatch(member):
        refuse(
            "an IAM member: user:…@…, group:…@…, serviceAccount:…@… or domain:…",
            "write, for example, group:team-a@example.com (allUsers is refused: it disables authentication)",
        )
    return member


# Top-level domains outside of the public DNS (IANA, special-use domain names; internal: ICANN).
LOCAL_DOMAINS = {"alt", "example", "internal", "invalid", "local", "localhost", "onion", "test"}


def _host(host: str) -> str:
    if not DNS_SUBDOMAIN.fullmatch(host) or host.rpartition(".")[2].isdecimal() or "." not in host:
        refuse(
            "a fully qualified host name, for which a certificate can be issued",
            "write it as in your DNS, such as models.example.com",
        )
    if host.rpartition(".")[2] in LOCAL_DOMAINS or host.endswith(".home.arpa"):
        refuse(
            "a host name of the public DNS, for which a certificate can be issued (IANA, special-use domain "
            "names)",
            "choose a host in a domain of your own",
        )
    return host


def _soft_delete(days: int) -> int:
    if days != 0 and not 7 <= days <= 90:
        refuse(
            "0 or 7 to 90 days (Cloud Storage, soft delete)", "write such a number; 0 disables soft delete"
        )
    return days


CertificateMap = Annotated[
    str,
    matching(
        NAME, "the name of a certificate map in the project", "write the bare name, such as my-certificates"
    ),
    Doc("name"),
]

OauthClientId = Annotated[
    str,
    matching(
        OAUTH_CLIENT,
        "the ID of an OAuth client",
        "copy it from its credentials: ….apps.googleusercontent.com",
    ),
    Doc("client ID"),
]


Member = Annotated[str, AfterValidator(_member), Doc("IAM member")]
Host = Annotated[str, AfterValidator(_host), Doc("host")]


class Identity(Model):
    """A Google service account for the namespace's pods, by Workload Identity Federation for GKE.

    It may only read and write the bucket of `checkpoints`, and read `secrets`; grant further roles where
    those resources are declared.
    """

    service_account: DnsLabel = "ray"
    """The Kubernetes ServiceAccount that pods set as `serviceAccountName`."""
    account: AccountId | None = None
    """ID of the Google service account; if unset, made of the cluster's name, the namespace and a hash, so
    that clusters of one project share none."""


# A claim needs a size; Cloud Storage FUSE ignores it, but a ResourceQuota counts it.
CLAIM_SIZE = "1Ti"


class Checkpoints(Model):
    """A bucket that pods mount through the PersistentVolumeClaim `checkpoints` (Cloud Storage FUSE).

    A pod that mounts it needs the annotation gke-gcsfuse/volumes: "true" and the identity's ServiceAccount.
    The bucket has a hierarchical namespace, so that a checkpoint's folder is renamed atomically.
    """

    bucket: BucketName
    """Name of the bucket, unique in all of Cloud Storage."""
    location: BucketLocation | None = None
    """Location of the bucket; the cluster's region if unset."""
    soft_delete_days: Annotated[int, AfterValidator(_soft_delete)] = 7
    """Days in which deleted or overwritten objects can be restored: 0, or 7 to 90."""
    delete_after_days: Annotated[int, Field(ge=1)] | None = None
    """Age in days at which objects are deleted; never if unset."""


class OauthClient(Model):
    """An OAuth client of your own, for users outside the organization or for programs."""

    id: OauthClientId
    """The client ID, which is not secret."""
    secret_name: DnsSubdomain
    """A Secret in the namespace that holds the client secret under `key`."""


class Iap(Model):
    """Identity-Aware Proxy, which authenticates callers by a Google identity and admits these members."""

    members: Annotated[tuple[Member, ...], Field(min_length=1)]
    """IAM members with access to these hosts: user:…, group:…, serviceAccount:… or domain:…."""
    oauth_client: OauthClient | None = None
    """OAuth client; if unset, Google's, which admits browser users of your organization only."""


ServiceName = Annotated[
    str,
    matching(
        re.compile(r"[a-z]([-a-z0-9]{0,45}[a-z0-9])?"),
        "the name of a RayService: 1 to 47 of a-z, 0-9 and '-', from a letter on, no '-' at the end "
        "(KubeRay, MaxRayServiceNameLength)",
        "rename the RayService",
    ),
    Doc("RayService"),
]


class Serving(Model):
    """Exposes each RayService under its own hosts, by HTTPS through a Gateway and Identity-Aware Proxy.

    Without it they are not reachable from outside: Ray Serve has no authentication.
    """

    hosts: Annotated[dict[Host, ServiceName], Field(min_length=1)]
    """The RayService behind each host; point each host's DNS record to the Gateway's address."""
    iap: Iap
    """Access by Identity-Aware Proxy."""
    timeout_seconds: Annotated[int, Field(ge=1, le=86400)] = 300
    """Timeout of a response, including streamed ones; Google's default of 30 s is too short for language
    models."""
    certificate_map: CertificateMap | None = None
    """An existing certificate map; if unset, the stack creates managed certificates for the hosts."""
