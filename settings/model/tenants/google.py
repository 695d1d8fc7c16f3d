"""What a tenant has of Google Cloud: an identity for its pods, a bucket, a way in for its services."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field
from typing_extensions import Doc

from settings.model.base import DNS_SUBDOMAIN, DnsLabel, DnsSubdomain, Model, refuse

BUCKET = re.compile(r"[a-z0-9]([-_a-z0-9]{1,61})[a-z0-9]")
ACCOUNT = re.compile(r"[a-z]([-a-z0-9]{4,28})[a-z0-9]")
MEMBER = re.compile(r"(user|group|serviceAccount):[^@\s]+@[^@\s]+|domain:[^@\s]+")
NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")


def _bucket(name: str) -> str:
    if not BUCKET.fullmatch(name) or name.startswith("goog") or "google" in name:
        refuse(
            "a bucket name: 3 to 63 of a-z, 0-9, '-' and '_', no '-' or '_' at either end, nothing of google",
            "choose such a name; it has to be one of its own in all of Cloud Storage",
        )
    return name


def _account(name: str) -> str:
    if not ACCOUNT.fullmatch(name):
        refuse(
            "6 to 30 of a-z, 0-9 and '-', from a letter to a letter or digit (IAM: accountId)",
            "choose such a name",
        )
    return name


def _member(member: str) -> str:
    if not MEMBER.fullmatch(member):
        refuse(
            "who may come in: user:…@…, group:…@…, serviceAccount:…@… or domain:…",
            "write it so, as in group:team-a@example.com (allUsers would be no authentication at all)",
        )
    return member


def _host(host: str) -> str:
    if not DNS_SUBDOMAIN.fullmatch(host) or "." not in host:
        refuse("a host's full name", "write it as your DNS has it, such as models.example.com")
    return host


def _soft_delete(days: int) -> int:
    if days != 0 and not 7 <= days <= 90:
        refuse("0 or 7 to 90 days (Cloud Storage, soft delete)", "choose such a number; 0 switches it off")
    return days


def _resource_name(name: str) -> str:
    if not NAME.fullmatch(name):
        refuse("the name of a certificate map of the project", "write its name alone, as in my-certificates")
    return name


def certificate_name(namespace: str, host: str) -> str:
    """Of the managed certificate of a tenant's host."""
    return f"{namespace}-{host.replace('.', '-')}"


Member = Annotated[str, AfterValidator(_member), Doc("IAM member")]
Host = Annotated[str, AfterValidator(_host), Doc("host")]


class Identity(Model):
    """Who the namespace's pods are to Google Cloud: a service account of its own, by Workload Identity.

    It may read and write its checkpoints' bucket and nothing else; give it more where that is declared.
    """

    service_account: DnsLabel = "ray"
    """The Kubernetes ServiceAccount that pods name (serviceAccountName)."""
    account: Annotated[str, AfterValidator(_account), Doc("account ID")] | None = None
    """The ID of the Google service account; the namespace and `-ray` unless given."""


class Checkpoints(Model):
    """A bucket that pods mount by the PersistentVolumeClaim `checkpoints` (Cloud Storage FUSE).

    A pod that mounts it needs the annotation gke-gcsfuse/volumes: "true" and the identity's ServiceAccount.
    The bucket has a hierarchical namespace, so that a checkpoint's folder is renamed in one step.
    """

    bucket: Annotated[str, AfterValidator(_bucket), Doc("bucket name")]
    """Its name, one of its own in all of Cloud Storage."""
    location: str | None = None
    """The cluster's region unless given."""
    soft_delete_days: Annotated[int, AfterValidator(_soft_delete)] = 7
    """How long what was deleted or overwritten can be brought back: 0, or 7 to 90."""
    delete_after_days: Annotated[int, Field(ge=1)] | None = None
    """The age at which objects are deleted."""


class OauthClient(Model):
    """An OAuth client of yours for users outside the organization, or for programs."""

    id: str
    """The client's ID, which is no secret."""
    secret_name: DnsSubdomain
    """A Secret in the namespace with the key `key`."""


class Iap(Model):
    """Identity-Aware Proxy: asks every caller for a Google identity, and lets these in."""

    members: Annotated[tuple[Member, ...], Field(min_length=1)]
    """Whom IAP lets in, at these hosts alone: user:…, group:…, serviceAccount:… or domain:…."""
    oauth_client: OauthClient | None = None
    """Google's own unless given, which is for people of your organization with a browser."""


class Serving(Model):
    """RayServices under names of their own, by HTTPS through a Gateway and Identity-Aware Proxy.

    There is no way in without it: Ray Serve has no authentication of its own.
    """

    hosts: Annotated[dict[Host, DnsLabel], Field(min_length=1)]
    """The RayService behind each host; each host's DNS has to lead to the Gateway's address."""
    iap: Iap
    """Who may call."""
    timeout_seconds: Annotated[int, Field(ge=1, le=86400)] = 300
    """How long an answer may take, streamed ones too; Google's own 30 s are short for language models."""
    certificate_map: Annotated[str, AfterValidator(_resource_name), Doc("name")] | None = None
    """A certificate map that is there already; unless given, managed certificates of the hosts are made."""
