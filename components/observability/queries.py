"""PromQL queries over metrics of Muster, Kueue and GKE, for alerts and dashboards.

Muster names its metrics as Kueue does, so one query serves both engines where both have the metric. Queries
and charts of metrics are columns of the controller's table (muster/controller/metrics/table.py).
"""

import re
from dataclasses import dataclass

from muster.controller.metrics.table import BY_NAME
from settings.model.observability import Alerts

BUSY_WINDOW = "10m"
SELECTOR = re.compile(r"\$(\w+)(?:\{(.*?)\})?")
HISTOGRAM_SERIES = re.compile(r"_(bucket|sum|count)$")


@dataclass(frozen=True)
class Queries:
    """`engine` is also the prefix of its metrics; `cluster` is the value of every series' label `cluster`,
    which Google's managed Prometheus adds; empty: the series have no such label."""

    engine: str
    cluster: str = ""

    def series(self, name: str, matchers: str = "") -> str:
        """Returns the selector of an engine's metric on this cluster; `matchers` as in PromQL.

        Raises: KeyError if the table of metrics has no such metric."""
        if name not in BY_NAME:
            assert BY_NAME[HISTOGRAM_SERIES.sub("", name)].buckets, f"{name}: not a histogram"
        of_cluster = f'cluster="{self.cluster}"' if self.cluster else ""
        return f"{self.engine}_{name}{{{','.join(filter(None, (of_cluster, matchers)))}}}"

    def expand(self, query: str) -> str:
        """Replaces each `$name` and `$name{MATCHERS}` by the selector of the metric.

        Raises: KeyError if the table of metrics has no such metric."""
        return SELECTOR.sub(lambda match: self.series(match[1], match[2] or ""), query)

    def of(self, name: str) -> str:
        """Returns the metric's own query from the table."""
        assert BY_NAME[name].query, f"{name} has no query"
        return self.expand(BY_NAME[name].query)

    def over_quota(self) -> str:
        """Returns a query for queues that use more than their nominal quota."""
        reserved, nominal = (
            self.of("cluster_queue_resource_reservation"),
            self.of("cluster_queue_nominal_quota"),
        )
        return f"{reserved} > {nominal}"

    def queue_wait(self, alerts: Alerts) -> str:
        """Returns queues with long waits; Kueue does not export the wait of workloads still pending."""
        most_s = alerts.queue_wait_minutes * 60
        if self.engine == "muster":
            return f"{self.of('oldest_pending_workload_timestamp_seconds')} > {most_s}"
        return f"{self.of('quota_reserved_wait_time_seconds')} > {most_s}"

    def provisioning(self, alerts: Alerts) -> str:
        """Returns queues that wait for capacity; Kueue exports only requests that are answered."""
        most_s = alerts.provisioning_minutes * 60
        if self.engine == "muster":
            oldest = self.series("oldest_provisioning_request_timestamp_seconds", 'state=~"Pending|Accepted"')
            return f"time() - min by (cluster_queue) ({oldest}) > {most_s}"
        return f"{self.of('admission_checks_wait_time_seconds')} > {most_s}"

    def gpu_use(self) -> str:
        """Returns the percent of time that GPUs are busy, by container; GKE measures NVIDIA's GPUs."""
        labels = f'monitored_resource="k8s_container",cluster_name="{self.cluster}"'
        duty = f"kubernetes_io:container_accelerator_duty_cycle{{{labels}}}"
        return f"avg by (namespace_name, pod_name, container_name) ({duty})"

    def idle_gpus(self, alerts: Alerts) -> str:
        """Returns a query for GPUs that are used less than `alerts.idle_gpu_percent`."""
        return f"{self.gpu_use()} < {alerts.idle_gpu_percent}"

    def no_leader(self) -> str:
        """Also returns a series if nothing is scraped at all."""
        return f"({self.of('leader')} or vector(0)) < 1"

    def refused_writes(self) -> str:
        """Returns the rate of writes that the API server refuses: missing rights, invalid objects."""
        refused = self.series("writes_total", 'result=~"refused"')
        return f"sum by (kind, verb) (rate({refused}[{BUSY_WINDOW}])) > 0"
