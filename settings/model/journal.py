"""Settings of the controller's journal: where it is kept, and for how long."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from settings.model.base import Model, refuse
from settings.model.google_cloud import BucketName


class Journal(Model):
    """The journal of finished workloads, which forecasts replay and take run times from.

    On GKE it is in a bucket, in the folder of the cluster's name, mounted in the controller's pods by Cloud
    Storage FUSE: set either `bucket` or `existingBucket`. In other clusters it is in a folder of the pod and
    ends with it (in a sandbox: in a folder of this machine): write `{}`.
    """

    bucket: BucketName | None = None
    """A bucket that the stack creates: private, in the cluster's region."""
    existing_bucket: BucketName | None = None
    """A bucket that exists; the controller may then read and write all of its objects."""
    delete_after_days: Annotated[int, Field(ge=1)] | None = 400
    """Age in days at which files are deleted from a `bucket` of the stack; null: never."""

    @model_validator(mode="after")
    def _one_bucket(self) -> Self:
        if self.bucket and self.existing_bucket:
            refuse(
                "either bucket or existingBucket",
                "remove `existingBucket` if the stack creates the bucket, else `bucket`",
            )
        if not self.bucket and "delete_after_days" in self.model_fields_set:
            refuse(
                "no deleteAfterDays without `bucket`: only the stack's own bucket gets a lifecycle rule",
                "remove it, or set the rule where the bucket is declared",
            )
        return self
