"""Parts that buckets of Cloud Storage share."""

from pulumi_gcp import storage

FUSE_DRIVER = "gcsfuse.csi.storage.gke.io"


def deleted_after(days: int | None) -> list[storage.BucketLifecycleRuleArgs] | None:
    """Returns the lifecycle rules of a bucket whose objects are deleted at this age; None: never."""
    if days is None:
        return None
    return [
        storage.BucketLifecycleRuleArgs(
            action=storage.BucketLifecycleRuleActionArgs(type="Delete"),
            condition=storage.BucketLifecycleRuleConditionArgs(age=days),
        )
    ]
