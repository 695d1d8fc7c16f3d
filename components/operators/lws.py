"""The LeaderWorkerSet controller, which runs LeaderWorkerSets."""

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
from settings.model.operators.lws import LeaderWorkerSet as LeaderWorkerSetSettings
from settings.model.operators.shared import Image

NAMESPACE = namespaces.LWS
CHART = "oci://registry.k8s.io/lws/charts/lws"
SOURCE = "https://raw.githubusercontent.com/kubernetes-sigs/lws"


@dataclass(frozen=True)
class LeaderWorkerSetArgs:
    """`node_selector` selects the nodes that the controller may run on."""

    lws: LeaderWorkerSetSettings
    node_selector: Mapping[str, str]


class LeaderWorkerSet(Component):
    """The controller's Helm chart, with its webhooks.

    The CRD is a separate resource, before the release: it is in the chart's crds/, which Helm installs once
    and never upgrades. It is retained when the stack is destroyed, because deleting it deletes all
    LeaderWorkerSets.
    """

    def __init__(
        self, name: str, args: LeaderWorkerSetArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("LeaderWorkerSet", name, opts)
        if args.lws.install == "helm":
            self._install(args)
        self.register_outputs({"install": args.lws.install})

    def _install(self, args: LeaderWorkerSetArgs) -> None:
        settings = args.lws
        file = "charts/lws/crds/leaderworkerset.x-k8s.io_leaderworkersets.yaml"
        definition = ConfigGroup(
            self.named("lws-definition"),
            files=[f"{SOURCE}/{settings.revision}/{file}"],
            opts=self.child(retain_on_delete=True),
        )
        place = OperatorNamespaceArgs(NAMESPACE, "restricted", served=(9443,), metrics=(8443,))
        home = OperatorNamespace("lws-namespace", place, self.child())
        chart = HelmChart("lws", NAMESPACE, CHART, settings.version, skip_crds=True)
        after = self.child(depends_on=[definition, *home.ready])
        release(chart, values(settings, args.node_selector), after)


def values(settings: LeaderWorkerSetSettings, node_selector: Mapping[str, str]) -> dict[str, Any]:
    """Returns the chart's values that differ from its defaults, which name an image of its main branch."""
    return {
        "image": {"manager": {**Image.parse(settings.chart_image)._asdict(), "pullPolicy": "IfNotPresent"}},
        "replicaCount": settings.replicas,
        "resources": container_resources(settings.resources),
        "nodeSelector": dict(node_selector),
        "tolerations": lost_node_tolerations(),
    }
