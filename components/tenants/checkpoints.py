"""A tenant's bucket for checkpoints, and the claim through which its pods mount it (Cloud Storage FUSE)."""

from dataclasses import dataclass

import pulumi
from pulumi_gcp import storage
from pulumi_kubernetes.core.v1 import (
    CSIPersistentVolumeSourceArgs,
    ObjectReferenceArgs,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpecArgs,
    PersistentVolumeSpecArgs,
    VolumeResourceRequirementsArgs,
)
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.base import Component
from components.foundation.google_cloud import FUSE_DRIVER, GoogleCloud, deleted_after
from settings.model.tenants.google import CLAIM_SIZE
from settings.model.tenants.google import Checkpoints as CheckpointsSettings

CLAIM = "checkpoints"
DAY_SECONDS = 24 * 3600
# The user of rayproject's images; by default the driver mounts a bucket for root alone.
MOUNT_OPTIONS = ["uid=1000", "gid=100"]
SIZE = {"storage": CLAIM_SIZE}


@dataclass(frozen=True)
class CheckpointsArgs:
    """`member` may read and write; `protect`: refuse to delete the bucket and its objects."""

    namespace: str
    checkpoints: CheckpointsSettings
    google: GoogleCloud
    member: pulumi.Input[str]
    protect: bool


class Checkpoints(Component):
    """A bucket that cannot become public, with soft deletion, and its volume and claim.

    A hierarchical namespace renames a folder in one step, which Ray Train does with a finished checkpoint.
    Such buckets have no object versions, so they use soft deletion.

    Declare the namespace after `volume`, then its claim: Kubernetes keeps a claim while a pod mounts it, and
    a volume while it is bound, so the namespace with its pods and claim is deleted before the volume.
    """

    def __init__(self, name: str, args: CheckpointsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Checkpoints", name, opts)
        self._namespace = args.namespace
        self.bucket = self._bucket(args)
        access = storage.BucketIAMMember(
            self.named(f"{args.namespace}-checkpoints"),
            bucket=self.bucket.name,
            # Objects and folders, not the bucket itself or its IAM policy.
            role="roles/storage.objectUser",
            member=args.member,
            opts=self.child(provider=args.google.provider),
        )
        self.volume = self._volume(access)
        self.register_outputs({"bucket": self.bucket.name})

    def _bucket(self, args: CheckpointsArgs) -> storage.Bucket:
        settings = args.checkpoints
        return storage.Bucket(
            self.named(settings.bucket),
            name=settings.bucket,
            project=args.google.project,
            location=(settings.location or args.google.region).upper(),
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            hierarchical_namespace=storage.BucketHierarchicalNamespaceArgs(enabled=True),
            soft_delete_policy=storage.BucketSoftDeletePolicyArgs(
                retention_duration_seconds=settings.soft_delete_days * DAY_SECONDS
            ),
            lifecycle_rules=deleted_after(settings.delete_after_days),
            labels={**args.google.labels, "tenant": args.namespace},
            force_destroy=False,
            opts=self.child(provider=args.google.provider, protect=args.protect),
        )

    def _volume(self, access: pulumi.Resource) -> PersistentVolume:
        """Declares a volume that only the tenant's claim can be bound to."""
        return PersistentVolume(
            self.named(f"{self._namespace}-{CLAIM}"),
            metadata=ObjectMetaArgs(name=f"{self._namespace}-{CLAIM}"),
            spec=PersistentVolumeSpecArgs(
                access_modes=["ReadWriteMany"],
                capacity=SIZE,
                storage_class_name="",
                persistent_volume_reclaim_policy="Retain",
                mount_options=MOUNT_OPTIONS,
                claim_ref=ObjectReferenceArgs(namespace=self._namespace, name=CLAIM),
                csi=CSIPersistentVolumeSourceArgs(driver=FUSE_DRIVER, volume_handle=self.bucket.name),
            ),
            # Kubernetes adds the UID of the bound claim.
            opts=self.child(depends_on=[access], ignore_changes=["spec.claimRef"]),
        )

    def add_claim(self, namespace: pulumi.Resource) -> None:
        """Declares the claim in the tenant's namespace."""
        PersistentVolumeClaim(
            self.named(f"{self._namespace}/{CLAIM}"),
            metadata=ObjectMetaArgs(name=CLAIM, namespace=self._namespace),
            spec=PersistentVolumeClaimSpecArgs(
                access_modes=["ReadWriteMany"],
                storage_class_name="",
                volume_name=f"{self._namespace}-{CLAIM}",
                resources=VolumeResourceRequirementsArgs(requests=SIZE),
            ),
            opts=self.child(depends_on=[self.volume, namespace], deleted_with=namespace),
        )
