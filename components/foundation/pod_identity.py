"""Google service accounts of pods, by Workload Identity Federation for GKE."""

import pulumi
from pulumi_gcp import serviceaccount

from components.foundation.google_cloud import GoogleCloud

ANNOTATION = "iam.gke.io/gcp-service-account"


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
