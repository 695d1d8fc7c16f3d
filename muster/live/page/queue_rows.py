"""The tree of cohorts and queues as rows of a table."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from muster.admission.quantities import in_api_unit
from muster.kube.kinds import COHORTS
from muster.live.overview.tree import QueueNode

Ids = Mapping[str, int]
QUANTITIES = ("total", "used", "borrowed", "lent")


def queue_rows(roots: Iterable[QueueNode], versions: Ids) -> dict[str, dict[str, Any]]:
    """Returns the rows by id, parents first. `versions` counts changes to the workloads of each ClusterQueue,
    so that a page which lists them knows when to reload."""
    return dict(_rows(roots, "", versions))


def queue_id(node: QueueNode) -> str:
    """Returns the id of a row, such as cohort/NAME or queue/NAME."""
    return f"{'cohort' if node.kind == str(COHORTS) else 'queue'}/{node.name}"


def _rows(nodes: Iterable[QueueNode], parent: str, versions: Ids) -> Iterator[tuple[str, dict[str, Any]]]:
    for node in nodes:
        own = queue_id(node)
        yield (
            own,
            {
                "name": node.name,
                "parent": parent,
                "weight": node.weight,
                "share": node.share,
                "stopPolicy": node.stop_policy,
                "problem": node.problem,
                "pending": node.workloads.pending,
                "inadmissible": node.workloads.inadmissible,
                "reserving": node.workloads.reserving,
                "admitted": node.workloads.admitted,
                "resources": _resources(node),
                "version": versions.get(node.name, 0) if own.startswith("queue/") else 0,
            },
        )
        yield from _rows(node.children, own, versions)


def _resources(node: QueueNode) -> dict[str, dict[str, float]]:
    """Returns amounts summed over all flavors, in the API's units, by resource. The quota includes the
    subtree."""
    sums: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys((*QUANTITIES, "pending"), 0))
    for column in node.columns:
        for quantity in QUANTITIES:
            sums[column.resource][quantity] += getattr(column, quantity)
    for resource, amount in node.demand.items():
        sums[resource]["pending"] += amount
    return {
        resource: {quantity: in_api_unit(resource, amount) for quantity, amount in of.items()}
        for resource, of in sorted(sums.items())
    }
