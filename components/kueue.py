"""Kueue: its API, which every engine speaks, and its controller where the engine is `kueue`."""

import json
from dataclasses import dataclass
from typing import Literal

import pulumi
from pulumi_kubernetes.helm.v3 import Release
from pulumi_kubernetes.yaml.v2 import ConfigGroup

from components.base import Component
from components.kueue_api import GROUP
from stacks.operators import Kueue as KueueSettings

NAMESPACE = "kueue-system"
CHART = "oci://registry.k8s.io/kueue/charts/kueue"
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
# The chart's own file with the frameworks narrowed to what stacks run: without it Kueue also watches
# Pods, Deployments and StatefulSets by its webhooks.
CONFIGURATION = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "health": {"healthProbeBindAddress": ":8081"},
    "metrics": {"bindAddress": ":8443"},
    "webhook": {"port": 9443},
    "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
    "integrations": {"frameworks": ["batch/job", "ray.io/rayjob", "ray.io/raycluster", "ray.io/rayservice"]},
}


@dataclass(frozen=True)
class KueueArgs:
    kueue: KueueSettings
    engine: Literal["muster", "kueue"]


class Kueue(Component):
    """With engine `muster` the CRDs alone; with `kueue` the chart, which brings CRDs and controller."""

    def __init__(self, name: str, args: KueueArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Kueue", name, opts)
        if args.kueue.install == "upstream":
            if args.engine == "kueue":
                self._release(args.kueue.version)
            else:
                self._definitions(args.kueue.version)
        self.register_outputs({"install": args.kueue.install})

    def _release(self, version: str) -> None:
        Release(
            "kueue",
            name="kueue",
            namespace=NAMESPACE,
            create_namespace=True,
            chart=CHART,
            version=version,
            # JSON is YAML, and its order does not change with the library that writes it.
            values={"managerConfig": {"controllerManagerConfigYaml": json.dumps(CONFIGURATION, indent=2)}},
            opts=self.child(),
        )

    def _definitions(self, version: str) -> None:
        ConfigGroup(
            "kueue-definitions",
            files=[
                f"{SOURCE}/v{version}/config/components/crd/bases/{GROUP}_{plural}.yaml" for plural in PLURALS
            ],
            opts=self.child(),
        )
