"""NVIDIA's GPU Operator: only where GKE is told to leave the GPUs' driver and device plugin alone."""

from typing import Literal

from settings.model.base import Model
from settings.model.operators.shared import Release

GPU_OPERATOR_VERSION = "26.3.3"


class GpuOperator(Model):
    """`none` where GKE manages the GPUs (`gpu.driver`: default or latest), which Google recommends."""

    install: Literal["none", "helm", "existing"] = "none"
    """By its Helm chart on GKE (pools then say `gpu.driver: disabled`), not at all, or it is there
    already."""
    version: Release = GPU_OPERATOR_VERSION
    """Of the chart."""
    mig_strategy: Literal["none", "single", "mixed"] = "single"
    """How partitions of GPUs are offered: not, as `nvidia.com/gpu` where all of a node are alike (`single`),
    or each size under a name of its own (`mixed`)."""
    dcgm_exporter: bool = True
    """Metrics of the GPUs, by NVIDIA's exporter."""
