"""KubeRay's operator, which runs RayJobs and RayClusters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.helm.v3 import Release
from pulumi_kubernetes.yaml.v2 import ConfigGroup

from components.base import Component
from components.operators.charts import Chart, container_resources, release
from components.operators.namespace import OperatorNamespace, OperatorNamespaceArgs
from settings.model.operators import namespaces
from settings.model.operators.kuberay import KubeRay as KubeRaySettings
from settings.model.operators.shared import Image

NAMESPACE = namespaces.KUBERAY
REPOSITORY = "https://ray-project.github.io/kuberay-helm/"
SOURCE = "https://raw.githubusercontent.com/ray-project/kuberay"
PLURALS = ("rayclusters", "rayjobs", "rayservices")
KAI_SCHEDULER = "kai-scheduler"


@dataclass(frozen=True)
class KubeRayArgs:
    """`node_selector` leads to the nodes that the operator may run on."""

    kuberay: KubeRaySettings
    engine: str
    node_selector: Mapping[str, str]


class KubeRay(Component):
    """The operator by its Helm chart. The add-on comes with the cluster; an existing one is left alone.

    The CRDs are resources of their own, before the release: the chart keeps them in its crds/, which Helm
    installs once and never upgrades. They stay when the stack goes, because with a CRD every Ray job of
    every user would go; `kubectl delete crd` says so on purpose.
    """

    def __init__(self, name: str, args: KubeRayArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("KubeRay", name, opts)
        self.release: Release | None = None
        if args.kuberay.install == "helm":
            self.release = self._release(args, self._definitions(args.kuberay))
        self.register_outputs({"install": args.kuberay.install})

    def _definitions(self, settings: KubeRaySettings) -> ConfigGroup:
        plurals = [*PLURALS, *(["raycronjobs"] if settings.feature_gates.get("RayCronJob") else [])]
        folder = f"{SOURCE}/v{settings.chart_version}/helm-chart/kuberay-operator/crds"
        return ConfigGroup(
            "kuberay-definitions",
            files=[f"{folder}/ray.io_{plural}.yaml" for plural in plurals],
            opts=self.child(retain_on_delete=True),
        )

    def _release(self, args: KubeRayArgs, definitions: ConfigGroup) -> Release:
        place = OperatorNamespaceArgs(NAMESPACE, "restricted", metrics=(8080,))
        home = OperatorNamespace("kuberay-namespace", place, self.child())
        chart = Chart(
            "kuberay-operator",
            NAMESPACE,
            "kuberay-operator",
            args.kuberay.chart_version,
            REPOSITORY,
            skip_crds=True,
        )
        wanted = values(args.kuberay, args.engine, args.node_selector)
        return release(chart, wanted, self.child(depends_on=[definitions, *home.ready]))


def values(settings: KubeRaySettings, engine: str, node_selector: Mapping[str, str]) -> dict[str, Any]:
    """The chart's values; what is left out stays as the chart has it."""
    wanted: dict[str, Any] = {
        "replicas": settings.replicas,
        "leaderElectionEnabled": True,
        "nodeSelector": dict(node_selector),
        "resources": container_resources(settings.resources),
        "reconcileConcurrency": settings.reconcile_concurrency,
        "kubeClient": {"qps": settings.client.qps, "burst": settings.client.burst},
        "batchScheduler": {"name": KAI_SCHEDULER if engine == "kai" else ""},
        # Google's managed Prometheus scrapes by PodMonitoring and knows no ServiceMonitor.
        "metrics": {"enabled": True, "serviceMonitor": {"enabled": False}},
    }
    if settings.image:
        wanted["image"] = Image.parse(settings.image)._asdict()
    if settings.watch_namespaces:
        wanted["watchNamespace"] = list(settings.watch_namespaces)
    if settings.feature_gates:
        wanted["featureGates"] = [
            {"name": name, "enabled": enabled} for name, enabled in sorted(settings.feature_gates.items())
        ]
    return wanted
