"""ComputeClasses, whose nodes GKE creates by itself."""

from collections.abc import Iterator, Sequence

from policies.reading import must_be, must_not_be, pick
from policies.rule import Resource, Violation, resource_rule, stack_rule
from policies.rules.cluster import CLUSTER
from policies.rules.node_pools import COMPUTE_CLASS, NODE_POOL
from policies.rules.queues import FLAVOR

CLASS_LABEL = "cloud.google.com/compute-class"


@stack_rule(
    "muster-flavor-has-compute-class",
    source="GKE, about custom ComputeClasses: pods select a class by its label",
    severity="high",
)
def flavor_has_a_compute_class(resources: Sequence[Resource]) -> Iterator[Violation]:
    """A flavor that selects nodes of a ComputeClass selects one of the stack: without the class no nodes are
    created, and admitted jobs hold quota and wait forever. The classes of a stack without nodes are in
    another one."""
    if not any(r.kind in (CLUSTER, NODE_POOL, COMPUTE_CLASS) for r in resources):
        return
    names = {pick(r.props, "metadata", "name") for r in resources if r.kind == COMPUTE_CLASS}
    for flavor in (r for r in resources if r.kind == FLAVOR):
        name = (pick(flavor.props, "spec", "nodeLabels") or {}).get(CLASS_LABEL)
        if name is not None and name not in names:
            yield Violation(
                flavor, f"declare the ComputeClass {name}, or remove the node label {CLASS_LABEL}"
            )


@resource_rule(
    "muster-compute-class-keeps-to-its-priorities",
    COMPUTE_CLASS,
    source="GKE, ComputeClass: whenUnsatisfiable, activeMigration",
    severity="medium",
)
def compute_class_keeps_to_its_priorities(compute_class: Resource) -> Iterator[str]:
    """A ComputeClass creates no nodes of other kinds, which quotas do not count on, and moves no pods of
    running gangs to nodes of a higher priority."""
    yield from must_be(compute_class, "spec.whenUnsatisfiable", "DoNotScaleUp")
    yield from must_not_be(compute_class, "spec.activeMigration.optimizeRulePriority", True)
