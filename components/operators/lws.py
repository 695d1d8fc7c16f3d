"""The LeaderWorkerSet controller, which runs LeaderWorkerSets."""

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
from settings.model.operators.lws import LeaderWorkerSet as LeaderWorkerSetSettings
from settings.model.operators.shared import Image

NAMESPACE = namespaces.LWS
CHART = "oci://registry.k8s.io/lws/charts/lws"
SOURCE = "https://raw.githubusercontent.com/kubernetes-sigs/lws"
DEFINITION = "charts/lws/crds/leaderworkerset.x-k8s.io_leaderworkersets.yaml"


@dataclass(frozen=True)
class LeaderWorkerSetArgs:
    """`node_selector` selects the nodes that the controller may run on."""

    lws: LeaderWorkerSetSettings
    node_selector: Mapping[str, str]


class LeaderWorkerSet(Component):
    """The controller's Helm chart, with its webhooks and its CRD (components/operators/definitions.py)."""

    def __init__(
        self, name: str, args: LeaderWorkerSetArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("LeaderWorkerSet", name, opts)
        if args.lws.install == "helm":
            self._install(args)
        self.register_outputs({"install": args.lws.install})

    def _install(self, args: LeaderWorkerSetArgs) -> None:
        settings = args.lws
        definition = f"{SOURCE}/{settings.revision}/{DEFINITION}"
        place = OperatorNamespaceArgs(NAMESPACE, "restricted", served=(9443,), metrics=(8443,))
        chart = HelmChart("lws", NAMESPACE, CHART, settings.version, skip_crds=True)
        install(self, "lws", [definition], place, chart, values(settings, args.node_selector))


def values(settings: LeaderWorkerSetSettings, node_selector: Mapping[str, str]) -> dict[str, Any]:
    """Returns the chart's values that differ from its defaults, which name an image of its main branch."""
    return {
        "image": {"manager": {**Image.parse(settings.chart_image)._asdict(), "pullPolicy": "IfNotPresent"}},
        "replicaCount": settings.replicas,
        "resources": container_resources(settings.resources),
        "nodeSelector": dict(node_selector),
        "tolerations": lost_node_tolerations(),
    }
