"""Charts of the queues and of the controller, which Cloud Monitoring and Grafana draw alike."""

from collections.abc import Iterator
from dataclasses import dataclass

from components.observability.queries import BUSY_WINDOW, Queries


@dataclass(frozen=True)
class Chart:
    """Draws `query` over time; `unit` is one of UCUM, as Cloud Monitoring expects it."""

    title: str
    query: str
    unit: str = "1"


def queue_charts(queries: Queries) -> Iterator[Chart]:
    """Yields the charts of the engine's queues; KAI exports no queue metrics."""
    if queries.engine not in ("muster", "kueue"):
        return
    yield Chart("Pending workloads", queries.pending())
    yield Chart("Admitted workloads", queries.admitted())
    yield Chart("Time in the queue, 90th percentile", queries.wait_quantile(0.9), "s")
    yield Chart("Evictions per hour", queries.evictions())
    yield Chart("Preemptions per hour", queries.preemptions())
    yield Chart("Quota in use", queries.reserved())
    yield Chart("Quota borrowed", f"{queries.reserved()} - {queries.quota()} > 0")
    waits = queries.wait_quantile(0.9, "admission_checks_wait_time_seconds")
    yield Chart("Wait for admission checks, 90th percentile", waits, "s")
    if queries.engine == "muster":
        requests = queries.series("provisioning_requests")
        yield Chart("Provisioning requests", f"sum by (cluster_queue, state) ({requests})")
        yield Chart("Age of the oldest pending workload", queries.oldest_wait_seconds(), "s")


def controller_charts(queries: Queries) -> Iterator[Chart]:
    """Yields the charts of Muster's controller itself."""
    if queries.engine != "muster":
        return
    yield Chart("Duration of a pass, 99th percentile", queries.pass_seconds(), "s")
    writes = queries.series("writes_total")
    yield Chart("Writes per second", f"sum by (kind, result) (rate({writes}[5m]))", "1/s")
    yield Chart("Age of the last event of each watch", queries.watch_age_seconds(), "s")
    blocked = queries.series("suspension_blocked_workloads")
    yield Chart("Gangs that must stop and have not", f"sum by (cluster_queue, reason) ({blocked})")
    starts = queries.series("eta_starts_total")
    yield Chart("Starts per hour by estimate", f"3600 * sum by (band) (rate({starts}[{BUSY_WINDOW}]))")
    yield Chart("Replicas that lead", f"sum({queries.series('leader')})")
