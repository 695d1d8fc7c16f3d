"""Names in Google Cloud: projects, labels, tags, keys, networks and their subnets."""

import re
from typing import Annotated

from pydantic import AfterValidator
from typing_extensions import Doc

from settings.model.base import matching, refuse

ID = r"[a-z][-a-z0-9]{4,28}[a-z0-9]"
# A project's ID, in some organizations with a domain before it, such as example.com:ray-prod.
PROJECT = rf"(?:[a-z0-9][-a-z0-9.]*:)?{ID}"
PROJECT_ID = re.compile(PROJECT)
# Resource Manager, "Requirements for labels".
# Google Cloud sets labels with the prefix goog itself ("Create and manage cluster labels").
LABEL_KEY = re.compile(r"(?!goog)[a-z][-_a-z0-9]{0,62}")
LABELS_MAX = 64  # of a resource
LABEL_VALUE = re.compile(r"[-_a-z0-9]{0,63}")
KMS_KEY = re.compile(
    rf"projects/{PROJECT}/locations/(?P<location>[a-z0-9-]+)/keyRings/[\w-]{{1,63}}/cryptoKeys/[\w-]{{1,63}}"
)
RESOURCE = r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?"
NETWORK = re.compile(rf"(?:projects/(?P<project>{PROJECT})/global/networks/)?{RESOURCE}")
# Resource names of service accounts (IAM API); a project with a domain has it behind its ID.
ACCOUNT_EMAIL = re.compile(rf"{ID}@[a-z0-9][-a-z0-9.]*\.iam\.gserviceaccount\.com")
SUBNETWORK = re.compile(
    rf"(?:projects/(?P<project>{PROJECT})/regions/(?P<region>[^/]+)/subnetworks/)?{RESOURCE}"
)


ProjectId = Annotated[
    str,
    matching(
        PROJECT_ID,
        "a project ID: 6 to 30 of a-z, 0-9 and '-', from a letter on, no '-' at the end (Resource Manager)",
        "write the ID, not the project's name or number; `gcloud projects list` prints it",
    ),
    Doc("project ID"),
]
GoogleLabelKey = Annotated[
    str,
    matching(
        LABEL_KEY,
        "a label key of Google Cloud: 1 to 63 of a-z, 0-9, '_' and '-', from a letter on, and not with "
        "goog, the prefix of Google's own (Resource Manager)",
        "rename it",
    ),
    Doc("label key of Google Cloud"),
]
GoogleLabelValue = Annotated[
    str,
    matching(
        LABEL_VALUE,
        "a label value of Google Cloud: up to 63 of a-z, 0-9, '_' and '-' (Resource Manager)",
        "write it in lower case, with '-' or '_' for other characters",
    ),
    Doc("label value of Google Cloud"),
]
TAG_ID, TAG_NAME = r"[0-9]+", r"[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?"
TAG_KEY = re.compile(rf"tagKeys/{TAG_ID}|([0-9]+|{PROJECT})/{TAG_NAME}")
TAG_VALUE = re.compile(rf"tagValues/{TAG_ID}|{TAG_NAME}")
TagKey = Annotated[
    str,
    matching(
        TAG_KEY,
        "a key of a tag: tagKeys/ID, ORGANIZATION/KEY or PROJECT/KEY (GKE API: ResourceManagerTags)",
        "write the ID or the namespaced name that `gcloud resource-manager tags keys list` prints",
    ),
    Doc("key of a tag"),
]
TagValue = Annotated[
    str,
    matching(
        TAG_VALUE,
        "a value of a tag: tagValues/ID, or its short name (GKE API: ResourceManagerTags)",
        "write the ID or the short name that `gcloud resource-manager tags values list` prints",
    ),
    Doc("value of a tag"),
]
KmsKey = Annotated[
    str,
    matching(
        KMS_KEY,
        "the full name of a Cloud KMS key",
        "write projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY",
    ),
    Doc("key of Cloud KMS"),
]
ExistingNetwork = Annotated[
    str,
    matching(
        NETWORK,
        "the name of a network, or its path (GKE API: Cluster.network)",
        "write NAME, or projects/PROJECT/global/networks/NAME for a network of another project",
    ),
    Doc("network"),
]
ExistingSubnetwork = Annotated[
    str,
    matching(
        SUBNETWORK,
        "the name of a subnet, or its path (GKE API: Cluster.subnetwork)",
        "write NAME, or projects/PROJECT/regions/REGION/subnetworks/NAME for one of another project",
    ),
    Doc("subnet"),
]


RangeName = Annotated[
    str,
    matching(
        re.compile(RESOURCE),
        "the name of a secondary range: 1 to 63 of a-z, 0-9 and '-', from a letter on (Compute Engine)",
        "write its name in the subnet, not its addresses",
    ),
    Doc("range name"),
]


BUCKET = re.compile(r"[a-z0-9]([-_a-z0-9]{1,61})[a-z0-9]")


def _bucket(name: str) -> str:
    if not BUCKET.fullmatch(name) or name.startswith("goog") or "google" in name:
        refuse(
            "a bucket name: 3 to 63 of a-z, 0-9, '-' and '_', no '-' or '_' at either end, without google",
            "rename it; bucket names are unique in all of Cloud Storage",
        )
    return name


BucketName = Annotated[str, AfterValidator(_bucket), Doc("bucket name")]
