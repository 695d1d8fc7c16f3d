"""Queues of a trace whose configuration is unknown: each had the quota that its jobs used at most."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from muster.admission import quantities
from muster.forecast.traces.trace import TraceJob
from muster.objects.names import KUEUE_API

FLAVOR = "inferred"
UNNAMED = "jobs-without-a-queue"


def inferred_queues(jobs: Sequence[TraceJob]) -> list[dict[str, Any]]:
    """Returns a flavor, and a ClusterQueue for each queue of a trace that records waits and run times; empty
    if it records none."""
    by_queue: dict[str, list[TraceJob]] = defaultdict(list)
    for job in jobs:
        if job.waited_ms is not None and job.run_ms is not None:
            by_queue[job.queue or UNNAMED].append(job)
    if not by_queue:
        return []
    flavor = {"apiVersion": KUEUE_API, "kind": "ResourceFlavor", "metadata": {"name": FLAVOR}, "spec": {}}
    return [flavor, *(_queue(name, _peaks(of_queue)) for name, of_queue in sorted(by_queue.items()))]


def _peaks(jobs: Iterable[TraceJob]) -> Mapping[str, int]:
    """Returns the highest usage of each resource; an end precedes a start at the same time."""
    used: Counter[str] = Counter()
    peaks: Counter[str] = Counter()
    for _, pods, requests in sorted(_changes(jobs), key=lambda change: change[:2]):
        for resource, amount in requests.items():
            used[resource] += amount * pods
            peaks[resource] = max(peaks[resource], used[resource])
    return peaks


def _changes(jobs: Iterable[TraceJob]) -> Iterator[tuple[int, int, Mapping[str, int]]]:
    """Yields the pods that jobs get, or less than 0 if they go, with the time and the requests of one."""
    for job in jobs:
        admitted_ms = job.submit_ms + (job.waited_ms or 0)
        started_ms = admitted_ms + (job.start_up_ms or 0)
        ended_ms = started_ms + (job.run_ms or 0)
        yield admitted_ms, job.pods, job.requests
        yield ended_ms, -job.pods, job.requests
        for group in job.elastic.groups if job.elastic is not None else ():
            granted = group.minimum
            for size in group.demand:
                if size.granted is not None:
                    at_ms = min(started_ms + size.after_ms, ended_ms)
                    yield at_ms, size.granted - granted, group.requests
                    granted = size.granted
            yield ended_ms, group.minimum - granted, group.requests


def _queue(name: str, peaks: Mapping[str, int]) -> dict[str, Any]:
    resources = [
        {"name": resource, "nominalQuota": quantities.format(resource, amount)}
        for resource, amount in peaks.items()
    ]
    group = {
        "coveredResources": list(peaks),
        "flavors": [{"name": FLAVOR, "resources": resources}],
    }
    spec = {"namespaceSelector": {}, "resourceGroups": [group]}
    return {"apiVersion": KUEUE_API, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}
