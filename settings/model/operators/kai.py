"""KAI Scheduler, which engine `kai` runs: it places pods by queue and evicts whole gangs."""

import re
from fractions import Fraction
from typing import Annotated, Literal, NamedTuple

from typing_extensions import Doc

from settings.model.base import Model, matching
from settings.model.operators.shared import Release, Replicas, Resources
from settings.model.pools.gpus import GPU_RESOURCE

KAI_VERSION = "0.12.0"
# Prefix of the stack's PriorityClasses: KAI's chart has its own, such as `inference`.
PRIORITY_PREFIX = "muster-"
# Parent of cluster queues without a cohort: KAI schedules no pods from a queue without a parent.
LONE_QUEUES = "muster-no-cohort"
REGISTRY = "ghcr.io/nvidia/kai-scheduler"


class Counted(NamedTuple):
    """KAI's name of a resource, and how many of KAI's units make one of Kubernetes'."""

    name: str
    per_unit: Fraction


# KAI counts millicores, and memory in 10^6 bytes (docs/queues); it has quotas for these resources only.
COUNTED = {
    "cpu": Counted("cpu", Fraction(1000)),
    "memory": Counted("memory", Fraction(1, 10**6)),
    GPU_RESOURCE: Counted("gpu", Fraction(1)),
}


Registry = Annotated[
    str,
    matching(
        re.compile(r"[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)*"),
        "a registry's host and path, without a scheme and a tag",
        "write it as in an image, such as registry.example/kai-scheduler",
    ),
    Doc("registry"),
]


class Kai(Model):
    """KAI Scheduler; engine `kai` only."""

    install: Literal["helm", "existing"] = "helm"
    """`helm`: installs the chart. `existing`: it is already installed; no other key may be set."""
    version: Release = KAI_VERSION
    """Version of the chart and images."""
    registry: Registry = REGISTRY
    """Registry of all images; set it to use your own mirror."""
    replicas: Replicas = 1
    """Replicas of the operator and of each service; one leads, the others are standbys."""
    resources: Resources = Resources.of("500m", "1Gi", cpu_limit="2", memory_limit="4Gi")
    """Resources of the scheduler; its use grows with the number of nodes."""
    placement: Literal["binpack", "spread"] = "binpack"
    """`binpack` fills nodes one by one, so that idle nodes can be removed; `spread` uses nodes evenly."""
    gpu_sharing: bool = False
    """Lets pods request a fraction of a GPU by annotation, and scales up nodes for such pods."""
