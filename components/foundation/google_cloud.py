"""Where resources of Google Cloud are made, beside the cluster's own."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi


@dataclass(frozen=True)
class GoogleCloud:
    """`region` is the cluster's; `labels` go on everything that takes them, for its costs."""

    project: str
    region: str
    provider: pulumi.ProviderResource
    labels: Mapping[str, str]
