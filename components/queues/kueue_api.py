"""Objects of Kueue's API as Pulumi resources."""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.base import named
from muster.objects.names import KUEUE_API


def kueue_object(
    kind: str,
    name: str,
    spec: Mapping[str, Any],
    opts: pulumi.ResourceOptions,
    namespace: str | None = None,
    annotations: Mapping[str, str] | None = None,
) -> CustomResource:
    """Declares an object without the suffix that Pulumi adds to names: users' labels name it."""
    return CustomResource(
        named(f"{namespace}/{name}" if namespace else name, opts),
        api_version=KUEUE_API,
        kind=kind,
        metadata=ObjectMetaArgs(name=name, namespace=namespace, annotations=annotations or None),
        spec=spec,
        opts=opts,
    )


class WorkloadPriorityClass(pulumi.CustomResource):
    """A separate class, because `apiextensions.CustomResource` has no top-level field other than `spec`."""

    def __init__(self, name: str, value: int, opts: pulumi.ResourceOptions) -> None:
        kind = type(self).__name__
        properties = {"apiVersion": KUEUE_API, "kind": kind, "metadata": {"name": name}, "value": value}
        super().__init__(f"kubernetes:{KUEUE_API}:{kind}", named(name, opts), properties, opts)
