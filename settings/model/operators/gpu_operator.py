"""NVIDIA GPU Operator, for clusters where GKE does not manage the GPU driver and device plugin."""

from typing import Literal

from settings.model.base import Model
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
    """How MIG partitions are exposed: `none` not at all, `single` as `nvidia.com/gpu` if all on a node are of
    one size, `mixed` as one resource per size."""
    dcgm_exporter: bool = True
    """Exports GPU metrics by NVIDIA's DCGM exporter."""
