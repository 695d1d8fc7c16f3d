"""NVIDIA's GPU Operator, for pools where GKE manages neither driver nor device plugin.

Source: NVIDIA, "NVIDIA GPU Operator with Google GKE", the variant with Google's driver installer, which runs
on Container-Optimized OS, GKE's default, where the operator cannot install the driver.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.core.v1 import (
    ResourceQuota,
    ResourceQuotaSpecArgs,
    ScopedResourceSelectorRequirementArgs,
    ScopeSelectorArgs,
)
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.yaml.v2 import ConfigGroup

from components.base import Component
from components.operators.charts import HelmChart, release
from components.operators.gpudirect import MANIFESTS
from components.operators.namespace import OperatorNamespace, OperatorNamespaceArgs
from settings.model.operators import namespaces
from settings.model.operators.gpus import GpuOperator as GpuOperatorSettings

NAMESPACE = namespaces.GPU_OPERATOR
REPOSITORY = "https://helm.ngc.nvidia.com/nvidia"
RUNTIME_CLASS = "nvidia"
DRIVER_INSTALLER = (
    f"{MANIFESTS}/992db81257553607f1477945f1b3219632991829/"
    "nvidia-driver-installer/cos/daemonset-preloaded.yaml"
)
# Writable and persistent on GKE's nodes, whose root file system is read-only.
INSTALL_DIRECTORY = "/home/kubernetes/bin/nvidia"
ENVIRONMENT = "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED"
CRITICAL = ("system-node-critical", "system-cluster-critical")
# The operator's DaemonSets: some ten pods a node with GPUs.
CRITICAL_PODS_MAX = "5000"


@dataclass(frozen=True)
class GpuOperatorArgs:
    """`node_selector` selects the nodes for pods that belong to no DaemonSet. `by_environment`: containers
    may name their GPUs, as KAI does for pods that share a GPU."""

    gpu_operator: GpuOperatorSettings
    node_selector: Mapping[str, str]
    by_environment: bool = False


class GpuOperator(Component):
    """Google's driver installer and the operator, which installs toolkit, device plugin, MIG and DCGM.

    Its CRDs are in the chart's crds/; a hook of the chart upgrades them.
    """

    def __init__(self, name: str, args: GpuOperatorArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("GpuOperator", name, opts)
        if args.gpu_operator.install == "helm":
            self._install(args)
        self.register_outputs({"install": args.gpu_operator.install})

    def _install(self, args: GpuOperatorArgs) -> None:
        # Privileged: drivers and device plugins change the node itself.
        place = OperatorNamespaceArgs(NAMESPACE, "privileged", metrics=(8080, 9400))
        home = OperatorNamespace("gpu-operator-namespace", place, self.child())
        # GKE admits pods of these priorities only where a quota allows them.
        quota = ResourceQuota(
            self.named("gpu-operator-critical-pods"),
            metadata=ObjectMetaArgs(name="critical-pods", namespace=NAMESPACE),
            spec=_critical_pods(),
            opts=self.child(depends_on=home.ready),
        )
        installer = ConfigGroup(
            self.named("gpu-driver-installer"), files=[DRIVER_INSTALLER], opts=self.child()
        )
        chart = HelmChart(
            "gpu-operator",
            NAMESPACE,
            "gpu-operator",
            f"v{args.gpu_operator.version}",
            REPOSITORY,
            # The hook that upgrades the CRDs needs it (the chart's values.yaml, operator.upgradeCRD).
            disable_openapi_validation=True,
        )
        chart_values = values(args)
        release(chart, chart_values, self.child(depends_on=[*home.ready, quota, installer]))


def _critical_pods() -> ResourceQuotaSpecArgs:
    selector = ScopedResourceSelectorRequirementArgs(
        scope_name="PriorityClass", operator="In", values=list(CRITICAL)
    )
    return ResourceQuotaSpecArgs(
        hard={"pods": CRITICAL_PODS_MAX}, scope_selector=ScopeSelectorArgs(match_expressions=[selector])
    )


def values(args: GpuOperatorArgs) -> dict[str, Any]:
    """Returns the chart's values that differ from its defaults.

    By default NVIDIA's runtime gives a container all GPUs that its variable NVIDIA_VISIBLE_DEVICES names,
    requested or not, and images of CUDA name all of them (NVIDIA, "Preventing unprivileged access to GPUs in
    Kubernetes"). Requested GPUs do not depend on it, as the device plugin passes them by CDI."""
    settings, selector = args.gpu_operator, dict(args.node_selector)
    requested_only = [] if args.by_environment else [{"name": ENVIRONMENT, "value": "false"}]
    return {
        "driver": {"enabled": False},
        "hostPaths": {"driverInstallDir": INSTALL_DIRECTORY},
        "toolkit": {
            "installDir": INSTALL_DIRECTORY,
            # Without it, the toolkit misreads containerd's configuration since GKE 1.33 (NVIDIA, same page).
            "env": [{"name": "RUNTIME_CONFIG_SOURCE", "value": "file"}, *requested_only],
        },
        "cdi": {"enabled": True},
        "mig": {"strategy": settings.mig_strategy},
        "migManager": {"env": [{"name": "WITH_REBOOT", "value": "true"}]},
        "dcgmExporter": {"enabled": settings.dcgm_exporter},
        "operator": {"nodeSelector": selector, "upgradeCRD": True},
        "node-feature-discovery": {"master": {"nodeSelector": selector}, "gc": {"nodeSelector": selector}},
    }
