"""Location and provider of Google Cloud resources outside the cluster."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi


@dataclass(frozen=True)
class GoogleCloud:
    """`region` is the cluster's; `labels` go on every resource that takes labels, to attribute its costs."""

    project: str
    region: str
    provider: pulumi.ProviderResource
    labels: Mapping[str, str]
