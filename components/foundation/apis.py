"""The Google Cloud APIs that a stack uses, enabled in its project."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from components.base import Component
from components.foundation.google_cloud import GoogleCloud
from components.foundation.key_access import grantable
from settings.model.foundation.cluster import Gke
from settings.model.foundation.place import GkePlace
from settings.model.stack import Settings

# Of every stack: the project's IAM policy, network and nodes, clusters, service accounts, logs and metrics.
ALWAYS = ("cloudresourcemanager", "compute", "container", "iam", "logging", "monitoring")


@dataclass(frozen=True)
class ApisArgs:
    """`names` are APIs without `.googleapis.com`."""

    names: tuple[str, ...]
    project: str


class Apis(Component):
    """Enables APIs, which a new project has not (Service Usage); `services` are the resources.

    An API stays enabled when the stack is destroyed: other stacks of the project may use it.
    """

    def __init__(self, name: str, args: ApisArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Apis", name, opts)
        self.services = tuple(
            gcp.projects.Service(
                self.named(api),
                service=f"{api}.googleapis.com",
                project=args.project,
                disable_on_destroy=False,
                opts=self.child(),
            )
            for api in args.names
        )
        self.register_outputs({"names": list(args.names)})


def enter_project(
    owner: Component, settings: Settings, cluster: GkePlace, labels: Mapping[str, str], enable_apis: bool
) -> GoogleCloud:
    """Declares, below `owner`, the provider of the stack's Google Cloud resources, and enables their APIs."""
    assert settings.project, "the settings' rules require a project for GKE"
    provider = gcp.Provider(owner.named("google"), project=settings.project, opts=owner.child())
    services: tuple[pulumi.Resource, ...] = ()
    if enable_apis:
        args = ApisArgs(required_apis(settings), settings.project)
        services = Apis("apis", args, owner.child(provider=provider)).services
    return GoogleCloud(settings.project, cluster.region, provider, labels, cluster, services)


def required_apis(settings: Settings) -> tuple[str, ...]:
    """Returns the APIs of the resources that a stack declares, and of the features that it switches on."""
    cluster = settings.cluster
    project = settings.project or ""
    of_cluster = _of_cluster(cluster, project) if isinstance(cluster, Gke) else ()
    keys = (pool.boot_disk.kms_key for pool in settings.pools)
    of_pools = ("cloudkms",) if any(grantable(key, project) for key in keys) else ()
    return tuple(sorted({*ALWAYS, *of_cluster, *of_pools, *_of_platform(settings), *_of_tenants(settings)}))


def _of_cluster(cluster: Gke, project: str) -> Iterator[str]:
    if cluster.binary_authorization:
        yield "binaryauthorization"
    if cluster.security_posture:
        yield "containersecurity"
    of_backups = cluster.backup.kms_key if cluster.backup else None
    keys = (cluster.secrets_encryption, cluster.boot_disk_kms_key, of_backups)
    if any(grantable(key, project) for key in keys):
        yield "cloudkms"
    if (cluster.notifications or "").startswith(f"projects/{project}/"):
        yield "pubsub"
    if cluster.backup:
        yield "gkebackup"
    if cluster.fleet:
        yield "gkehub"


def _of_platform(settings: Settings) -> Iterator[str]:
    controller, observability = settings.controller, settings.observability
    if controller and controller.build:
        yield "artifactregistry"
        if controller.build.signature:
            yield from ("binaryauthorization", "cloudkms", "containeranalysis")
    if (controller and controller.journal) or (observability and observability.logs.archive_days):
        yield "storage"


def _of_tenants(settings: Settings) -> Iterator[str]:
    if any(tenant.identity for tenant in settings.tenants):
        yield "iamcredentials"  # tokens of the service accounts that tenants impersonate
    if any(tenant.checkpoints for tenant in settings.tenants):
        yield "storage"
    if any(tenant.secrets for tenant in settings.tenants):
        yield "secretmanager"
    if any(tenant.serving for tenant in settings.tenants):
        yield from ("certificatemanager", "iap")
