"""The JobSet controller, which runs JobSets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.yaml.v2 import ConfigGroup

from components.base import Component
from components.operators.charts import HelmChart, container_resources, release
from components.operators.namespace import OperatorNamespace, OperatorNamespaceArgs
from settings.manifests.lost_nodes import lost_node_tolerations
from settings.model.operators import namespaces
from settings.model.operators.jobset import JobSet as JobSetSettings
from settings.model.operators.shared import Image

NAMESPACE = namespaces.JOBSET
CHART = "oci://registry.k8s.io/jobset/charts/jobset"
SOURCE = "https://raw.githubusercontent.com/kubernetes-sigs/jobset"


@dataclass(frozen=True)
class JobSetArgs:
    """`node_selector` selects the nodes that the controller may run on."""

    jobset: JobSetSettings
    node_selector: Mapping[str, str]


class JobSet(Component):
    """The controller's Helm chart, with its webhooks.

    The CRD is a separate resource, before the release: it is in the chart's crds/, which Helm installs once
    and never upgrades. It is retained when the stack is destroyed, because deleting it deletes all JobSets.
    """

    def __init__(self, name: str, args: JobSetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("JobSet", name, opts)
        if args.jobset.install == "helm":
            self._install(args)
        self.register_outputs({"install": args.jobset.install})

    def _install(self, args: JobSetArgs) -> None:
        settings = args.jobset
        definition = ConfigGroup(
            self.named("jobset-definition"),
            files=[f"{SOURCE}/{settings.revision}/charts/jobset/crds/jobset.x-k8s.io_jobsets.yaml"],
            opts=self.child(retain_on_delete=True),
        )
        place = OperatorNamespaceArgs(NAMESPACE, "restricted", served=(9443,), metrics=(8443,))
        home = OperatorNamespace("jobset-namespace", place, self.child())
        chart = HelmChart("jobset", NAMESPACE, CHART, settings.version, skip_crds=True)
        after = self.child(depends_on=[definition, *home.ready])
        release(chart, values(settings, args.node_selector), after)


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
