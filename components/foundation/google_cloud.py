"""Google Cloud resources outside the cluster: their location and provider, buckets, and pods' identities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import serviceaccount, storage

from settings.model.foundation.place import GkePlace

LONGEST_ACCOUNT_ID = 30


@dataclass(frozen=True)
class GoogleCloud:
    """`region` is the cluster's; `labels` are set on every resource that has labels, to attribute its costs.

    `cluster` is the cluster whose name its resources have.

    `apis` are enabled before any other resource is created; resources that depend on the cluster need not
    name them.
    """

    project: str
    region: str
    provider: pulumi.ProviderResource
    labels: Mapping[str, str]
    cluster: GkePlace
    apis: Sequence[pulumi.Resource]


def account_id(cluster: GkePlace, *parts: str) -> str:
    """Returns the ID of a service account that belongs to this cluster only."""
    return cluster.unique(*parts, longest=LONGEST_ACCOUNT_ID)


def name_at_creation(key: str = "name") -> list[str]:
    """Returns the option `ignore_changes` of a resource whose name, by this key, is decided at its creation.

    Another name would replace the resource, and a replaced service account loses its permissions elsewhere.
    Stacks that were deployed when names had no cluster in them keep those names.
    """
    return [key]


def api_word(word: str) -> str:
    """Returns the API's value for a word of the settings: OPTIMIZE_UTILIZATION for optimize-utilization."""
    return word.upper().replace("-", "_")


FUSE_DRIVER = "gcsfuse.csi.storage.gke.io"
# The driver of GKE's Secret Manager add-on; the open-source one has another name (secrets-store.csi.k8s.io).
SECRETS_DRIVER = "secrets-store-gke.csi.k8s.io"


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


IDENTITY_ANNOTATION = "iam.gke.io/gcp-service-account"


def pod_identity(
    name: str,
    account: serviceaccount.Account,
    service_account: str,
    google: GoogleCloud,
    opts: pulumi.ResourceOptions,
) -> serviceaccount.IAMMember:
    """Lets pods of a Kubernetes ServiceAccount (namespace/name) act as a Google one.

    It does not name the pods' own principal (principal://…), which contains the project's number, unknown to
    a preview without credentials."""
    return serviceaccount.IAMMember(
        name,
        service_account_id=account.name,
        role="roles/iam.workloadIdentityUser",
        member=f"serviceAccount:{google.project}.svc.id.goog[{service_account}]",
        opts=opts,
    )
