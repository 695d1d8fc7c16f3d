"""Operators for GPUs: NVIDIA's GPU Operator, and plug-ins of NCCL on nodes whose GPUs bypass the CPUs."""

import re
from typing import Annotated, Literal

from typing_extensions import Doc

from settings.model.base import Model, matching
from settings.model.operators.shared import Release

GPU_OPERATOR_VERSION = "26.7.0"


class GpuOperator(Model):
    """NVIDIA GPU Operator. Google recommends `install: none`, with which GKE manages the driver
    (`gpu.driver`: default or latest)."""

    install: Literal["none", "helm", "existing"] = "none"
    """`helm`: installs the chart, GKE only; pools then set `gpu.driver: disabled`. `existing`: it is already
    installed."""
    version: Release = GPU_OPERATOR_VERSION
    """Version of the chart."""
    mig_strategy: Literal["none", "single", "mixed"] = "single"
    """Exposure of MIG partitions: `none` not at all, `single` as `nvidia.com/gpu` if all on a node are of
    one size, `mixed` as one resource per size."""
    dcgm_exporter: bool = True
    """Exports GPU metrics by NVIDIA's DCGM exporter."""


Commit = Annotated[
    str,
    matching(re.compile("[0-9a-f]{40}"), "a whole commit: 40 of 0-9 and a-f", "write `git rev-parse` of it"),
    Doc("commit"),
]


class GpuDirect(Model):
    """Google's installers of NCCL plug-ins, DaemonSets in kube-system, for the stack's pools with `gpudirect`
    or with RDMA (`dranet` of a3-ultragpu, a4 and a4x machines)."""

    install: Literal["manifests", "none"] = "manifests"
    """`manifests`: the installers that such pools need, from the repository
    GoogleCloudPlatform/container-engine-accelerators. `none`: something else installs the plug-ins."""
    commit: Commit = "992db81257553607f1477945f1b3219632991829"
    """The manifests' commit, which pins versions of the plug-ins by tag: gIB v1.1.1 (v1.1.0 for Arm), TCPXO
    v1.0.15, TCPX v3.1.9."""
