"""KAI Scheduler and its services, for engine `kai`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.helm.v3 import Release

from components.base import Component
from components.operators.charts import HelmChart, container_resources, release
from components.operators.namespace import OperatorNamespace, OperatorNamespaceArgs
from settings.model.operators import namespaces
from settings.model.operators.kai import Kai as KaiSettings
from settings.model.operators.shared import Resources

NAMESPACE = namespaces.KAI
OPERATOR_RESOURCES = Resources.of("100m", "256Mi", cpu_limit="500m", memory_limit="512Mi")
CHART = "oci://ghcr.io/nvidia/kai-scheduler/kai-scheduler"


@dataclass(frozen=True)
class KaiArgs:
    """`runtime_class` is the RuntimeClass of pods with GPUs; empty where the nodes need none, as on GKE."""

    kai: KaiSettings
    node_selector: Mapping[str, str]
    runtime_class: str


class Kai(Component):
    """The chart, whose operator starts scheduler, binder, pod grouper and controllers.

    Its CRDs are in the chart's crds/: a hook of the chart upgrades them, and Helm never deletes them, so
    queues and pod groups outlive the release.
    """

    def __init__(self, name: str, args: KaiArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Kai", name, opts)
        self.release: Release | None = None
        if args.kai.install == "helm":
            self.release = self._release(args)
        self.register_outputs({"install": args.kai.install})

    def _release(self, args: KaiArgs) -> Release:
        # Not restricted: the chart gives its operator no securityContext.
        place = OperatorNamespaceArgs(NAMESPACE, "baseline", served=(9443,), metrics=(8080,))
        home = OperatorNamespace("kai-namespace", place, self.child())
        chart = HelmChart("kai-scheduler", NAMESPACE, CHART, f"v{args.kai.version}")
        chart_values = values(args.kai, args.node_selector, args.runtime_class)
        return release(chart, chart_values, self.child(depends_on=home.ready))


def values(settings: KaiSettings, node_selector: Mapping[str, str], runtime_class: str) -> dict[str, Any]:
    """Returns the chart's values that differ from its defaults.

    An empty RuntimeClass is written as a quoted empty string: the chart ignores an empty value, and KAI would
    set class `nvidia`, which GKE's nodes do not have, on every pod with GPUs.
    """
    class_name = runtime_class or '""'
    return {
        "global": {
            "registry": settings.registry,
            "tag": f"v{settings.version}",
            "leaderElection": settings.replicas > 1,
            "gpuSharing": settings.gpu_sharing,
            # Pods that share a GPU request it by annotation, which cluster autoscalers ignore.
            "clusterAutoscaling": settings.gpu_sharing,
            "nodeSelector": dict(node_selector),
            # The node selector applies to the operator and the hooks only; the services use the affinity.
            "affinity": _node_affinity(node_selector),
        },
        # Also the services' replicas (templates/kai-config.yaml).
        "operator": {
            "replicaCount": settings.replicas,
            "resources": container_resources(OPERATOR_RESOURCES),
        },
        "scheduler": {
            "placementStrategy": settings.placement,
            "resources": container_resources(settings.resources),
        },
        "admission": {"gpuPodRuntimeClassName": class_name},
        "binder": {"runtimeClassName": class_name},
        # A default queue would let pods bypass the quotas of the stack's queues.
        "defaultQueue": {"createDefaultQueue": False},
        # Would copy Kueue's Topologies; a stack with this engine has none.
        "topologyMigration": {"enabled": False},
    }


def _node_affinity(node_selector: Mapping[str, str]) -> dict[str, Any]:
    if not node_selector:
        return {}
    terms = [{"key": key, "operator": "In", "values": [value]} for key, value in node_selector.items()]
    required = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
