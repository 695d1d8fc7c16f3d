"""Helm charts as Pulumi resources, with the options that all of them share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.helm.v3 import Release, RepositoryOptsArgs

from components.base import named
from settings.model.operators.shared import Resources

# Long enough for the system pool to create its first node.
TIMEOUT_SECONDS = 600
# Helm keeps every revision as a Secret, with the whole chart in it.
HISTORY_MAX = 5


@dataclass(frozen=True)
class HelmChart:
    """One chart in one version, the name and namespace of its release, and options that differ by chart.

    `chart` is an oci:// address, or a name in `repository`.
    """

    name: str
    namespace: str
    chart: str
    version: str
    repository: str | None = None
    skip_crds: bool = False
    disable_openapi_validation: bool = False


def release(chart: HelmChart, values: Mapping[str, Any], opts: pulumi.ResourceOptions) -> Release:
    """Declares the chart's release; an installation or upgrade that fails is rolled back (`atomic`)."""
    return Release(
        named(chart.name, opts),
        name=chart.name,
        namespace=chart.namespace,
        chart=chart.chart,
        version=chart.version,
        repository_opts=RepositoryOptsArgs(repo=chart.repository) if chart.repository else None,
        values=values,
        skip_crds=chart.skip_crds,
        disable_openapi_validation=chart.disable_openapi_validation,
        atomic=True,
        cleanup_on_fail=True,
        timeout=TIMEOUT_SECONDS,
        max_history=HISTORY_MAX,
        opts=opts,
    )


def container_resources(resources: Resources) -> dict[str, dict[str, str]]:
    """Returns a container's `resources`."""
    return {
        "requests": {"cpu": resources.requests.cpu, "memory": resources.requests.memory},
        "limits": {"cpu": resources.limits.cpu, "memory": resources.limits.memory},
    }
