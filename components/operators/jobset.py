"""The JobSet controller, which runs JobSets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from components.base import Component
from components.operators.charts import HelmChart, container_resources
from components.operators.definitions import install
from components.operators.namespace import OperatorNamespaceArgs
from settings.manifests.lost_nodes import lost_node_tolerations
from settings.model.operators import namespaces
from settings.model.operators.jobset import JobSet as JobSetSettings
from settings.model.operators.shared import Image

NAMESPACE = namespaces.JOBSET
CHART = "oci://registry.k8s.io/jobset/charts/jobset"
SOURCE = "https://raw.githubusercontent.com/kubernetes-sigs/jobset"
DEFINITION = "charts/jobset/crds/jobset.x-k8s.io_jobsets.yaml"


@dataclass(frozen=True)
class JobSetArgs:
    """`node_selector` selects the nodes that the controller may run on."""

    jobset: JobSetSettings
    node_selector: Mapping[str, str]


class JobSet(Component):
    """The controller's Helm chart, with its webhooks and its CRD (components/operators/definitions.py)."""

    def __init__(self, name: str, args: JobSetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("JobSet", name, opts)
        if args.jobset.install == "helm":
            self._install(args)
        self.register_outputs({"install": args.jobset.install})

    def _install(self, args: JobSetArgs) -> None:
        settings = args.jobset
        definition = f"{SOURCE}/{settings.revision}/{DEFINITION}"
        place = OperatorNamespaceArgs(NAMESPACE, "restricted", served=(9443,), metrics=(8443,))
        chart = HelmChart("jobset", NAMESPACE, CHART, settings.version, skip_crds=True)
        install(self, "jobset", [definition], place, chart, values(settings, args.node_selector))


def values(settings: JobSetSettings, node_selector: Mapping[str, str]) -> dict[str, Any]:
    """Returns the chart's values that differ from its defaults, which name an image of its main branch."""
    return {
        "image": {**Image.parse(settings.chart_image)._asdict(), "pullPolicy": "IfNotPresent"},
        "controller": {
            "replicas": settings.replicas,
            "resources": container_resources(settings.resources),
            "clientConnection": {"qps": settings.client.qps, "burst": settings.client.burst},
            "nodeSelector": dict(node_selector),
            "tolerations": lost_node_tolerations(),
        },
    }
