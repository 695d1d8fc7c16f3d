"""Location and provider of Google Cloud resources outside the cluster."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

LONGEST_ID = 30


@dataclass(frozen=True)
class GoogleCloud:
    """`region` is the cluster's; `labels` go on every resource that takes labels, to attribute its costs."""

    project: str
    region: str
    provider: pulumi.ProviderResource
    labels: Mapping[str, str]


def account_id(cluster: str, suffix: str) -> str:
    """Returns the ID of a cluster's own service account: its name, cut so that IAM accepts it, and a
    suffix."""
    return f"{cluster[: LONGEST_ID - len(suffix) - 1].rstrip('-')}-{suffix}"
