"""Location and provider of Google Cloud resources outside the cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

LONGEST_ID = 30


@dataclass(frozen=True)
class GoogleCloud:
    """`region` is the cluster's; `labels` go on every resource that takes labels, to attribute its costs.

    `apis` are enabled before any other resource is created; resources that depend on the cluster need not
    name them.
    """

    project: str
    region: str
    provider: pulumi.ProviderResource
    labels: Mapping[str, str]
    apis: Sequence[pulumi.Resource]


def account_id(cluster: str, suffix: str) -> str:
    """Returns the ID of a cluster's own service account: its name, cut so that IAM accepts it, and a
    suffix."""
    return f"{cluster[: LONGEST_ID - len(suffix) - 1].rstrip('-')}-{suffix}"
