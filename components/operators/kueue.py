"""Kueue: its API, which engine `muster` implements too, and its controller for engine `kueue`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.yaml.v2 import ConfigGroup

from components.base import Component, transforms
from components.operators.charts import HelmChart, container_resources, release
from components.operators.namespace import OperatorNamespace, OperatorNamespaceArgs
from muster.objects.names import KUEUE_API, KUEUE_GROUP
from settings.manifests.configuration import kueue_configuration
from settings.model.operators import namespaces
from settings.model.operators.kueue import Kueue as KueueSettings
from settings.model.operators.shared import Image
from settings.model.queues.devices import DeviceClassMapping

NAMESPACE = namespaces.KUEUE
CHART = "oci://registry.k8s.io/kueue/charts/kueue"
IMAGE = "registry.k8s.io/kueue/kueue"
SOURCE = "https://raw.githubusercontent.com/kubernetes-sigs/kueue"
DEFINITION = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"
# Kueue's kinds that a stack declares, or that Muster's controller reads or writes.
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
    """`node_selector` selects the controller's nodes; `protect` protects its release from deletion;
    `device_classes` have quota."""

    kueue: KueueSettings
    engine: str
    node_selector: Mapping[str, str]
    protect: bool
    device_classes: Sequence[DeviceClassMapping] = ()


class Kueue(Component):
    """The CRDs alone for engine `muster`; the chart, with CRDs and controller, for engine `kueue`.

    CRDs applied alone are retained when the stack is destroyed, because deleting them deletes all queues and
    Workloads; they serve one version (`with_one_version`). The chart's CRDs are templates, upgraded by Helm
    and deleted with the release, which is therefore protected where the cluster is.
    """

    def __init__(self, name: str, args: KueueArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Kueue", name, opts)
        if args.kueue.install == "upstream" and args.engine == "kueue":
            self._release(args)
        elif args.kueue.install == "upstream" and args.engine == "muster":
            self._definitions(args.kueue.revision)
        self.register_outputs({"install": args.kueue.install})

    def _release(self, args: KueueArgs) -> None:
        # served: webhooks, and the API that lists pending workloads.
        place = OperatorNamespaceArgs(NAMESPACE, "restricted", served=(9443, 8082), metrics=(8443,))
        home = OperatorNamespace("kueue-namespace", place, self.child())
        chart = HelmChart("kueue", NAMESPACE, CHART, args.kueue.version)
        options = self.child(protect=args.protect, depends_on=home.ready)
        release(chart, values(args.kueue, args.node_selector, args.device_classes), options)

    def _definitions(self, revision: str) -> None:
        ConfigGroup(
            self.named("kueue-definitions"),
            files=[
                f"{SOURCE}/{revision}/config/components/crd/bases/{KUEUE_GROUP}_{plural}.yaml"
                for plural in PLURALS
            ],
            opts=self.child(retain_on_delete=True, transforms=transforms(with_one_version)),
        )


def with_one_version(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
    """Leaves in a CRD only the version that Muster uses, and stores it. Without Kueue's webhook nothing
    converts objects of another version: the API server would drop all of their fields that have other names
    here. It would also decode each change once for each version (docs/performance.md)."""
    if args.type_ != DEFINITION:
        return None
    props: dict[str, Any] = {**args.props}
    spec = props["spec"]
    used = [version for version in spec["versions"] if f"{KUEUE_GROUP}/{version['name']}" == KUEUE_API]
    versions = [{**version, "storage": True} for version in used]  # Kueue 0.15 stores v1beta1
    return pulumi.ResourceTransformResult({**props, "spec": {**spec, "versions": versions}}, args.opts)


def values(
    settings: KueueSettings,
    node_selector: Mapping[str, str],
    device_classes: Sequence[DeviceClassMapping] = (),
) -> dict[str, Any]:
    """Returns the chart's values that differ from its defaults."""
    image = Image.parse(settings.image) if settings.image else Image(IMAGE, f"v{settings.version}")
    configuration = kueue_configuration(settings, device_classes)
    return {
        "controllerManager": {
            "replicas": settings.replicas,
            "nodeSelector": dict(node_selector),
            # With a single replica, its node could never be drained.
            "podDisruptionBudget": {"enabled": settings.replicas > 1, "minAvailable": 1},
            "manager": {
                "image": {**image._asdict(), "pullPolicy": "IfNotPresent"},
                "resources": container_resources(settings.resources),
            },
        },
        # JSON is YAML, and its order does not depend on a YAML library.
        "managerConfig": {"controllerManagerConfigYaml": json.dumps(configuration, indent=2)},
    }
