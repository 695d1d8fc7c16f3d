"""The place of the controller's journal: a bucket and the identity that writes it, or a folder of the pod."""

from dataclasses import dataclass

import pulumi
from pulumi_gcp import serviceaccount, storage
from pulumi_kubernetes.core.v1 import CSIVolumeSourceArgs, EmptyDirVolumeSourceArgs, VolumeArgs

from components.base import Component
from components.foundation.google_cloud import (
    FUSE_DRIVER,
    GoogleCloud,
    account_id,
    deleted_after,
    name_at_creation,
    pod_identity,
)
from settings.model.journal import Journal

VOLUME = "journal"
MOUNTED_AT = "/journal"


@dataclass(frozen=True)
class JournalPlace:
    """`folder` is the cluster's own: several may share a bucket. `bucket` and `email`, the Google service
    account that may write it, are None if the folder is the pod's."""

    folder: str
    bucket: pulumi.Input[str] | None = None
    email: pulumi.Input[str] | None = None

    def volume(self, user_id: int) -> VolumeArgs:
        """Returns the volume that this user may write."""
        if self.bucket is None:
            return VolumeArgs(name=VOLUME, empty_dir=EmptyDirVolumeSourceArgs())
        attributes = {
            "bucketName": self.bucket,
            "mountOptions": f"uid={user_id},gid={user_id}",
            # a bucket that cannot be reached must not keep the controller from starting
            "skipCSIBucketAccessCheck": "true",
        }
        return VolumeArgs(
            name=VOLUME, csi=CSIVolumeSourceArgs(driver=FUSE_DRIVER, volume_attributes=attributes)
        )


def journal_folder(cluster: str) -> str:
    """Returns the folder of a cluster's journal in the mounted bucket."""
    return f"{MOUNTED_AT}/{cluster}"


@dataclass(frozen=True)
class JournalBucketArgs:
    """`service_account` is the pods' own, as namespace/name; `protect`: refuse to delete the bucket."""

    journal: Journal
    cluster: str
    service_account: str
    google: GoogleCloud
    protect: bool


class JournalBucket(Component):
    """A new or existing private bucket, and a Google service account that may write objects in it."""

    def __init__(
        self, name: str, args: JournalBucketArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("JournalBucket", name, opts)
        self._google = args.google
        bucket = args.journal.existing_bucket or self._bucket(args)
        account = serviceaccount.Account(
            self.named("journal"),
            account_id=account_id(self._google.cluster, "muster"),
            display_name=f"Muster's controller on {args.cluster}",
            project=self._google.project,
            opts=self.child(provider=self._google.provider, ignore_changes=name_at_creation("accountId")),
        )
        pod_identity(
            self.named("journal-pods"), account, args.service_account, self._google, self._in_cloud()
        )
        storage.BucketIAMMember(
            self.named("journal"),
            bucket=bucket,
            # Objects and folders, not the bucket itself or its IAM policy.
            role="roles/storage.objectUser",
            member=account.member,
            opts=self._in_cloud(),
        )
        self.place = JournalPlace(journal_folder(args.cluster), bucket, account.email)
        self.register_outputs({"bucket": bucket})

    def _in_cloud(self) -> pulumi.ResourceOptions:
        return self.child(provider=self._google.provider)

    def _bucket(self, args: JournalBucketArgs) -> pulumi.Output[str]:
        """Declares the bucket. Each append replaces an object, so neither versions nor soft deletion keep
        former ones."""
        bucket = storage.Bucket(
            self.named("journal"),
            name=args.journal.bucket,
            project=self._google.project,
            location=self._google.region.upper(),
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            soft_delete_policy=storage.BucketSoftDeletePolicyArgs(retention_duration_seconds=0),
            lifecycle_rules=deleted_after(args.journal.delete_after_days),
            labels=self._google.labels,
            force_destroy=False,
            opts=self.child(provider=self._google.provider, protect=args.protect),
        )
        return bucket.name
