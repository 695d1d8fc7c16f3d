"""KAI Scheduler, which places pods by queue and evicts whole gangs: what engine `kai` runs."""

from fractions import Fraction
from typing import Literal, NamedTuple

from settings.model.base import Model
from settings.model.operators.shared import Release, Replicas, Resources
from settings.model.pools.gpus import GPU_RESOURCE

KAI_VERSION = "0.12.0"
# Before the names of the stack's priorities, as KAI's chart brings PriorityClasses such as `inference`.
PRIORITY_PREFIX = "muster-"
# The parent of cluster queues without a cohort: KAI takes no pods in a queue that has none.
LONE_QUEUES = "muster-no-cohort"
REGISTRY = "ghcr.io/nvidia/kai-scheduler"


class Counted(NamedTuple):
    """KAI's name of a resource, and how many of its units one of Kubernetes' is."""

    name: str
    per_unit: Fraction


# Millicores, and 10^6 bytes (docs/queues); KAI has quotas of nothing else.
COUNTED = {
    "cpu": Counted("cpu", Fraction(1000)),
    "memory": Counted("memory", Fraction(1, 10**6)),
    GPU_RESOURCE: Counted("gpu", Fraction(1)),
}


class Kai(Model):
    """KAI Scheduler by the values of its chart; engine `kai` only."""

    install: Literal["helm", "existing"] = "helm"
    """By its Helm chart, or not at all because it is there already, which refuses all other keys."""
    version: Release = KAI_VERSION
    """Of chart and images."""
    registry: str = REGISTRY
    """Where all of its images lie, for a mirror of your own."""
    replicas: Replicas = 1
    """Of the operator and of each service; one leads, the others stand by."""
    resources: Resources = Resources.of("500m", "1Gi", cpu_limit="2", memory_limit="4Gi")
    """The scheduler's, which grow with the number of nodes."""
    placement: Literal["binpack", "spread"] = "binpack"
    """`binpack` fills nodes one after the other, so that others can go; `spread` uses all alike."""
    gpu_sharing: bool = False
    """Lets pods ask for a part of a GPU by annotation, and scales nodes up for such pods too."""
