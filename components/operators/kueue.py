"""Kueue: its API, which engine `muster` speaks too, and its controller where the engine is `kueue`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.yaml.v2 import ConfigGroup

from components.base import Component
from components.operators.charts import Chart, container_resources, release
from components.operators.kueue_configuration import configuration
from components.operators.namespace import OperatorNamespace, OperatorNamespaceArgs
from components.queues.kueue_api import GROUP
from settings.model.operators import namespaces
from settings.model.operators.kueue import Kueue as KueueSettings
from settings.model.operators.shared import Image

NAMESPACE = namespaces.KUEUE
CHART = "oci://registry.k8s.io/kueue/charts/kueue"
IMAGE = "registry.k8s.io/kueue/kueue"
SOURCE = "https://raw.githubusercontent.com/kubernetes-sigs/kueue"
# Those of Kueue's kinds that a stack declares or the controller writes.
PLURALS = (
    "admissionchecks",
    "clusterqueues",
    "cohorts",
    "localqueues",
    "provisioningrequestconfigs",
    "resourceflavors",
    "topologies",
    "workloadpriorityclasses",
    "workloads",
)


@dataclass(frozen=True)
class KueueArgs:
    """`node_selector` leads to the nodes that the controller may run on; `protect` keeps its release."""

    kueue: KueueSettings
    engine: str
    node_selector: Mapping[str, str]
    protect: bool


class Kueue(Component):
    """With engine `muster` the CRDs alone; with `kueue` the chart, which brings CRDs and controller.

    The CRDs alone stay when the stack goes: with them every queue and Workload would go. The chart's are
    templates of it, upgraded by Helm and deleted with the release, which therefore is protected where the
    cluster is. Applied alone they have no conversion webhook: only v1beta2 is to be used.
    """

    def __init__(self, name: str, args: KueueArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Kueue", name, opts)
        if args.kueue.install == "upstream" and args.engine == "kueue":
            self._release(args)
        elif args.kueue.install == "upstream" and args.engine == "muster":
            self._definitions(args.kueue.version)
        self.register_outputs({"install": args.kueue.install})

    def _release(self, args: KueueArgs) -> None:
        # Webhooks, and the API that shows pending workloads; metrics.
        place = OperatorNamespaceArgs(NAMESPACE, "restricted", served=(9443, 8082), metrics=(8443,))
        home = OperatorNamespace("kueue-namespace", place, self.child())
        chart = Chart("kueue", NAMESPACE, CHART, args.kueue.version)
        options = self.child(protect=args.protect, depends_on=home.ready)
        release(chart, values(args.kueue, args.node_selector), options)

    def _definitions(self, version: str) -> None:
        ConfigGroup(
            "kueue-definitions",
            files=[
                f"{SOURCE}/v{version}/config/components/crd/bases/{GROUP}_{plural}.yaml" for plural in PLURALS
            ],
            opts=self.child(retain_on_delete=True),
        )


def values(settings: KueueSettings, node_selector: Mapping[str, str]) -> dict[str, Any]:
    """The chart's values; what is left out stays as the chart has it."""
    image = Image.parse(settings.image) if settings.image else Image(IMAGE, f"v{settings.version}")
    return {
        "controllerManager": {
            "replicas": settings.replicas,
            "nodeSelector": dict(node_selector),
            # Of a single replica it would keep its node from being drained.
            "podDisruptionBudget": {"enabled": settings.replicas > 1, "minAvailable": 1},
            "manager": {
                "image": {**image._asdict(), "pullPolicy": "IfNotPresent"},
                "resources": container_resources(settings.resources),
            },
        },
        # JSON is YAML, and its order does not change with the library that writes it.
        "managerConfig": {"controllerManagerConfigYaml": json.dumps(configuration(settings), indent=2)},
    }
