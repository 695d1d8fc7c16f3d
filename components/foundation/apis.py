"""The Google Cloud APIs that a stack uses, enabled in its project."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from components.base import Component
from components.foundation.google_cloud import GoogleCloud
from components.foundation.key_access import grantable
from settings.model.foundation.cluster import Gke
from settings.model.foundation.place import GkePlace
from settings.model.split import PARTS, Part
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


@dataclass(frozen=True)
class ProjectArgs:
    """`settings` have a project, in which the `cluster` is; `parts`: deployed by the stack."""

    settings: Settings
    cluster: GkePlace
    parts: frozenset[Part] = frozenset(PARTS)


def enter_project(owner: Component, args: ProjectArgs) -> GoogleCloud:
    """Declares, below `owner`, the provider of the stack's Google Cloud resources, and enables their APIs."""
    settings, cluster = args.settings, args.cluster
    assert settings.project, "the settings' rules require a project for GKE"
    provider = gcp.Provider(owner.named("google"), project=settings.project, opts=owner.child())
    services: tuple[pulumi.Resource, ...] = ()
    own = settings.cluster if isinstance(settings.cluster, Gke) else settings.cluster.gke
    assert own, "the cluster has a place in GKE"
    if own.enable_apis:
        apis = ApisArgs(required_apis(settings, args.parts), settings.project)
        services = Apis("apis", apis, owner.child(provider=provider)).services
    return GoogleCloud(settings.project, cluster.region, provider, own.labels, cluster, services)


def required_apis(settings: Settings, parts: Collection[Part] = PARTS) -> tuple[str, ...]:
    """Returns the APIs of the resources that these parts declare, and of the features that they switch on."""
    apis: set[str] = set()
    if "foundation" in parts:
        apis |= {*ALWAYS, *_of_foundation(settings)}
    if "cluster" in parts:
        apis |= {*_of_controller(settings)}
    if "tenants" in parts:
        apis |= {*_of_tenants(settings)}
    return tuple(sorted(apis))


def _of_foundation(settings: Settings) -> Iterator[str]:
    project = settings.project or ""
    if isinstance(settings.cluster, Gke):
        yield from _of_cluster(settings.cluster, project)
    if any(grantable(pool.boot_disk.kms_key, project) for pool in settings.pools):
        yield "cloudkms"


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


def _of_controller(settings: Settings) -> Iterator[str]:
    controller = settings.controller
    if controller and controller.build:
        yield "artifactregistry"
        if controller.build.signature:
            yield from ("binaryauthorization", "cloudkms", "containeranalysis")
    if controller and controller.journal:
        yield "storage"


def _of_tenants(settings: Settings) -> Iterator[str]:
    if any(tenant.identity for tenant in settings.tenants):
        yield "iamcredentials"  # tokens of the service accounts that tenants impersonate
    observability = settings.observability
    archived = observability is not None and observability.logs.archive_days
    if archived or any(tenant.checkpoints for tenant in settings.tenants):
        yield "storage"
    if any(tenant.secrets for tenant in settings.tenants):
        yield "secretmanager"
    if any(tenant.serving for tenant in settings.tenants):
        yield from ("certificatemanager", "iap")
