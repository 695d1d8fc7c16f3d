"""The page's view of a cluster: its tables, and details on demand."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.admission.quantities import in_api_unit
from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.kinds import BY_KIND
from muster.cluster.queue_counts import queue_of
from muster.configuration.configuration import DEFAULT, Configuration
from muster.kube.kinds import COHORTS
from muster.live.gang_pods import NO_PODS, PodListing
from muster.live.overview.details import QueueDetails, queue_details
from muster.live.overview.document import document
from muster.live.overview.overview import Overview, overview
from muster.live.overview.rows import WorkloadRow
from muster.live.overview.tree import BudgetRow, QueueNode, queue_tree
from muster.live.overview.why import why
from muster.live.page.attempts import RecentAttempts
from muster.live.page.estimates import EstimateCoverage
from muster.live.page.incidents import Preemptions, provisioning
from muster.live.page.sizes import RecentSizes
from muster.live.page.tables import Tables
from muster.objects.meta import rfc3339

Ids = Mapping[str, int]
MINUTE_MS = 60_000
QUANTITIES = ("total", "used", "borrowed", "lent")


@dataclass(frozen=True)
class Moment:
    """The state of a cluster, with cached details."""

    overview: Overview
    details: dict[str, QueueDetails] = field(default_factory=dict)


class Board:
    """Views of the latest state of a cluster. One thread may refresh it while another reads details."""

    def __init__(self, configuration: Configuration = DEFAULT) -> None:
        self._configuration = configuration
        self._moment = Moment(overview(ClusterState(), 0, configuration))
        self._attempts, self._preemptions = RecentAttempts(), Preemptions()
        self._estimates, self._sizes = EstimateCoverage(), RecentSizes()
        self._versions: Counter[str] = Counter()

    def refresh(self, cluster: ClusterState, now_ms: int) -> Tables:
        """Sets a new state; returns its tables."""
        self._versions.update(set(_changed_queues(self._moment.overview.cluster, cluster)))
        latest = overview(cluster, now_ms, self._configuration)
        self._sizes.update(cluster, now_ms)
        tables = {
            "queues": queue_rows(queue_tree(latest), self._versions),
            "gangs": self._attempts.update(cluster, now_ms),
            "preemptions": self._preemptions.update(cluster),
            "provisioning": provisioning(cluster),
            "estimates": self._estimates.update(cluster),
        }
        self._moment = Moment(latest)
        return tables

    def queue(self, name: str, start: int, count: int) -> dict[str, Any] | None:
        """Returns the workloads of a ClusterQueue from index `start` on; None if there is no such queue."""
        moment = self._moment
        if name not in moment.overview.usage_of_queues:
            return None
        if name not in moment.details:
            moment.details[name] = queue_details(moment.overview, name)
        rows = (*moment.details[name].running, *moment.details[name].waiting)
        shown = [workload_row(row) for row in rows[start : start + count]]
        return {"name": name, "total": len(rows), "from": start, "workloads": shown}

    def workload(self, key: str, pods: PodListing = NO_PODS) -> dict[str, Any] | None:
        """Returns a Workload, why it waits or its pods do not run, its history, and the sizes of an
        autoscaled one; None if there is no such Workload."""
        latest = self._moment.overview
        workload = latest.cluster.workloads.get(key)
        if workload is None:
            return None
        sizes = document(self._sizes.of(workload.metadata.uid))
        return {**document(why(latest, workload, pods)), "sizes": sizes}


def workload_row(of: WorkloadRow) -> dict[str, Any]:
    """Returns a workload as a row of a queue's list, as JSON."""
    return {"key": of.key, **document(of)}


def _changed_queues(before: ClusterState, after: ClusterState) -> Iterator[str]:
    """Yields the ClusterQueues with workloads that changed or whose jobs changed."""
    jobs = {uid for kind in BY_KIND for uid in _changed(before.objects(kind), after.objects(kind))}
    for key, workload in before.workloads.items():
        if after.workloads.get(key) is not workload:
            yield queue_of(workload, before)
    for key, workload in after.workloads.items():
        owner = workload.metadata.controller
        if before.workloads.get(key) is not workload or (owner is not None and owner.uid in jobs):
            yield queue_of(workload, after)


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterable[str]:
    """Yields the UIDs of objects that are new or have changed."""
    return (obj.metadata.uid for key, obj in after.items() if before.get(key) is not obj)


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
                "budgets": [_budget(budget) for budget in node.budgets],
                "version": versions.get(node.name, 0) if own.startswith("queue/") else 0,
            },
        )
        yield from _rows(node.children, own, versions)


def _budget(budget: BudgetRow) -> dict[str, Any]:
    """Returns a budget in tenths of hours and minutes, so that the row seldom changes."""
    is_used_up = budget.used_hours >= budget.limit_hours
    minute_ms = None if is_used_up or budget.runs_out_ms is None else budget.runs_out_ms // MINUTE_MS
    return {
        "of": f"{budget.resource} hours per {budget.period}{f' in {budget.flavor}' if budget.flavor else ''}",
        "used": round(budget.used_hours, 1),
        "committed": round(budget.committed_hours, 1),
        "limit": round(budget.limit_hours, 1),
        "end": rfc3339(budget.end_ms),
        "runsOut": None if minute_ms is None else rfc3339(minute_ms * MINUTE_MS),
        "by": budget.runs_out_by,
    }


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
