"""KubeRay's operator, which runs RayJobs and RayClusters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.helm.v3 import Release

from components.base import Component
from components.operators.charts import HelmChart, container_resources
from components.operators.definitions import install
from components.operators.namespace import OperatorNamespaceArgs
from muster.cluster.jobs.kinds import RESOURCES
from muster.cluster.jobs.rayjob import RAY_CRON_JOB
from settings.manifests.lost_nodes import lost_node_tolerations
from settings.model.operators import namespaces
from settings.model.operators.kuberay import KubeRay as KubeRaySettings
from settings.model.operators.shared import Image

NAMESPACE = namespaces.KUBERAY
REPOSITORY = "https://ray-project.github.io/kuberay-helm/"
SOURCE = "https://raw.githubusercontent.com/ray-project/kuberay"
KAI_SCHEDULER = "kai-scheduler"


@dataclass(frozen=True)
class KubeRayArgs:
    """`node_selector` selects the nodes that the operator may run on."""

    kuberay: KubeRaySettings
    engine: str
    node_selector: Mapping[str, str]


class KubeRay(Component):
    """The operator's Helm chart, with its CRDs (components/operators/definitions.py); nothing if the operator
    is GKE's add-on or already exists."""

    def __init__(self, name: str, args: KubeRayArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("KubeRay", name, opts)
        self.release = self._install(args) if args.kuberay.install == "helm" else None
        self.register_outputs({"install": args.kuberay.install})

    def _install(self, args: KubeRayArgs) -> Release:
        settings = args.kuberay
        place = OperatorNamespaceArgs(NAMESPACE, "restricted", metrics=(8080,))
        chart = HelmChart(
            "kuberay-operator",
            NAMESPACE,
            "kuberay-operator",
            settings.chart_version,
            REPOSITORY,
            skip_crds=True,
        )
        chart_values = values(settings, args.engine, args.node_selector)
        return install(self, "kuberay", _definitions(settings), place, chart, chart_values)


def _definitions(settings: KubeRaySettings) -> list[str]:
    """Returns the URLs of the CRDs."""
    plurals = [
        *sorted(RESOURCES["ray.io"]),
        *([RAY_CRON_JOB.plural] if settings.feature_gates.get("RayCronJob") else []),
    ]
    folder = f"{SOURCE}/{settings.revision}/helm-chart/kuberay-operator/crds"
    return [f"{folder}/ray.io_{plural}.yaml" for plural in plurals]


def values(settings: KubeRaySettings, engine: str, node_selector: Mapping[str, str]) -> dict[str, Any]:
    """Returns the chart's values that differ from its defaults."""
    result: dict[str, Any] = {
        "replicas": settings.replicas,
        "leaderElectionEnabled": True,
        "nodeSelector": dict(node_selector),
        "tolerations": lost_node_tolerations(),
        "resources": container_resources(settings.resources),
        "reconcileConcurrency": settings.reconcile_concurrency,
        "kubeClient": {"qps": settings.client.qps, "burst": settings.client.burst},
        "batchScheduler": {"name": KAI_SCHEDULER if engine == "kai" else ""},
        # Google's managed Prometheus uses PodMonitorings and has no ServiceMonitor.
        "metrics": {"enabled": True, "serviceMonitor": {"enabled": False}},
    }
    if settings.image:
        result["image"] = Image.parse(settings.image)._asdict()
    if settings.watch_namespaces:
        result["watchNamespace"] = list(settings.watch_namespaces)
    if settings.feature_gates:
        result["featureGates"] = [
            {"name": name, "enabled": enabled} for name, enabled in sorted(settings.feature_gates.items())
        ]
    return result
