"""The minimum version of a cluster, and the first versions that serve the APIs that stacks use."""

from typing import Annotated

from pydantic import AfterValidator
from typing_extensions import Doc

from settings.model.base import refuse
from settings.model.versions import GkeVersion

# The first versions that serve these APIs as v1: ValidatingAdmissionPolicy, which keeps Ray objects in their
# queues; MutatingAdmissionPolicy, which suspends them at creation; and ResourceClaim.
OLDEST_VERSION = GkeVersion(1, 30, 0, 0)
MUTATING_POLICIES = GkeVersion(1, 36, 0, 0)
RESOURCE_CLAIMS = GkeVersion(1, 34, 0, 0)
DRA_BETA = GkeVersion(1, 32, 0, 0)
CLAIM_APIS = tuple(
    f"resource.k8s.io/v1beta1/{kind}"
    for kind in ("deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices")
)


def _version(version: str) -> str:
    try:
        parsed = GkeVersion.parse(version)
    except ValueError:
        refuse("a GKE version", 'write it in quotes, such as "1.36" or "1.36.1-gke.1234000"')
    if parsed.major != 1:
        refuse(
            "a version of Kubernetes 1, such as 1.36", "check it against `gcloud container get-server-config`"
        )
    if parsed < OLDEST_VERSION:
        refuse(
            "1.30 or later, the first version with ValidatingAdmissionPolicy v1, which keeps Ray objects in "
            "their queues",
            'raise it, preferably to "1.36", which also suspends queued Ray objects at creation',
        )
    return version


ClusterVersion = Annotated[str, AfterValidator(_version), Doc("GKE version")]
