"""KAI Scheduler: the scheduler and the services around it, which engine `kai` runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.helm.v3 import Release

from components.base import Component
from components.operators.charts import Chart, container_resources, release
from components.operators.namespace import OperatorNamespace, OperatorNamespaceArgs
from settings.model.operators import namespaces
from settings.model.operators.kai import Kai as KaiSettings
from settings.model.operators.shared import Resources

NAMESPACE = namespaces.KAI
OPERATOR_RESOURCES = Resources.of("100m", "256Mi", cpu_limit="500m", memory_limit="512Mi")
CHART = "oci://ghcr.io/nvidia/kai-scheduler/kai-scheduler"


@dataclass(frozen=True)
class KaiArgs:
    """`runtime_class` is the RuntimeClass for pods with GPUs; empty where the nodes need none, as on GKE."""

    kai: KaiSettings
    node_selector: Mapping[str, str]
    runtime_class: str


class Kai(Component):
    """The chart, whose operator starts scheduler, binder, pod grouper and controllers.

    Its CRDs lie in the chart's crds/, but a hook of the chart upgrades them, and Helm deletes none of them:
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
        chart = Chart("kai-scheduler", NAMESPACE, CHART, f"v{args.kai.version}")
        wanted = values(args.kai, args.node_selector, args.runtime_class)
        return release(chart, wanted, self.child(depends_on=home.ready))


def values(settings: KaiSettings, node_selector: Mapping[str, str], runtime_class: str) -> dict[str, Any]:
    """The chart's values; what is left out stays as the chart has it.

    An empty RuntimeClass is written in quotes of its own: the chart takes an empty value for none given, and
    then KAI sets class `nvidia`, which GKE's nodes don't have, on every pod with GPUs.
    """
    class_name = runtime_class or '""'
    return {
        "global": {
            "registry": settings.registry,
            "tag": f"v{settings.version}",
            "leaderElection": settings.replicas > 1,
            "gpuSharing": settings.gpu_sharing,
            # Pods that share a GPU ask for it by annotation, which no cluster autoscaler sees.
            "clusterAutoscaling": settings.gpu_sharing,
            "nodeSelector": dict(node_selector),
            # The node selector reaches the operator and the hooks only; the services take the affinity.
            "affinity": _node_affinity(node_selector),
        },
        # Counts for the services too (templates/kai-config.yaml).
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
        # The queues are the stack's: one that takes anybody's pods would go round their quotas.
        "defaultQueue": {"createDefaultQueue": False},
        # It would copy Kueue's Topologies, of which a stack with this engine has none.
        "topologyMigration": {"enabled": False},
    }


def _node_affinity(node_selector: Mapping[str, str]) -> dict[str, Any]:
    if not node_selector:
        return {}
    terms = [{"key": key, "operator": "In", "values": [value]} for key, value in node_selector.items()]
    required = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
