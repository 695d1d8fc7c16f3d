"""PromQL queries over metrics of Muster, Kueue and GKE, for alerts and dashboards.

Muster names its metrics as Kueue does, so one query serves both engines where both have the metric.
"""

from dataclasses import dataclass

from settings.model.observability import Alerts

COLUMN = "(cluster_queue, flavor, resource)"
WAITING_STATES = "Pending|Accepted"
BUSY_WINDOW = "10m"
WAIT_WINDOW = "1h"


@dataclass(frozen=True)
class Queries:
    """`engine` is also the prefix of its metrics; `cluster` is the value of every series' label `cluster`,
    which Google's managed Prometheus adds; empty: the series have no such label."""

    engine: str
    cluster: str = ""

    def series(self, name: str, **matchers: str) -> str:
        """Returns the selector of an engine's metric on this cluster; `matchers` are regular expressions."""
        of_cluster = [f'cluster="{self.cluster}"'] if self.cluster else []
        all_matchers = [*of_cluster, *(f'{label}=~"{value}"' for label, value in matchers.items())]
        return f"{self.engine}_{name}{{{','.join(all_matchers)}}}"

    def pending(self) -> str:
        return f"sum by (cluster_queue, status) ({self.series('pending_workloads')})"

    def admitted(self) -> str:
        return f"sum by (cluster_queue) ({self.series('admitted_active_workloads')})"

    def reserved(self) -> str:
        return f"max by {COLUMN} ({self.series('cluster_queue_resource_reservation')})"

    def quota(self) -> str:
        return f"max by {COLUMN} ({self.series('cluster_queue_nominal_quota')})"

    def over_quota(self) -> str:
        return f"{self.reserved()} > {self.quota()}"

    def evictions(self) -> str:
        rate = f"rate({self.series('evicted_workloads_total')}[{BUSY_WINDOW}])"
        return f"3600 * sum by (cluster_queue, reason) ({rate})"

    def preemptions(self) -> str:
        rate = f"rate({self.series('preempted_workloads_total')}[{BUSY_WINDOW}])"
        return f"3600 * sum by (preempting_cluster_queue, reason) ({rate})"

    def wait_quantile(self, quantile: float, metric: str = "quota_reserved_wait_time_seconds") -> str:
        """Returns the wait of workloads that passed within WAIT_WINDOW."""
        rate = f"rate({self.series(f'{metric}_bucket')}[{WAIT_WINDOW}])"
        return f"histogram_quantile({quantile}, sum by (le, cluster_queue) ({rate}))"

    def oldest_wait_seconds(self) -> str:
        """Returns the age of the workload that has waited longest in each queue; only Muster exports it."""
        oldest = self.series("oldest_pending_workload_timestamp_seconds")
        return f"time() - min by (cluster_queue) ({oldest})"

    def queue_wait(self, alerts: Alerts) -> str:
        """Returns queues with long waits; Kueue does not export the wait of workloads still pending."""
        most_s = alerts.queue_wait_minutes * 60
        if self.engine == "muster":
            return f"{self.oldest_wait_seconds()} > {most_s}"
        return f"{self.wait_quantile(0.9)} > {most_s}"

    def provisioning(self, alerts: Alerts) -> str:
        """Returns queues that wait for capacity; Kueue exports only requests that are answered."""
        most_s = alerts.provisioning_minutes * 60
        if self.engine == "muster":
            name = "oldest_provisioning_request_timestamp_seconds"
            oldest = self.series(name, state=WAITING_STATES)
            return f"time() - min by (cluster_queue) ({oldest}) > {most_s}"
        return f"{self.wait_quantile(0.9, 'admission_checks_wait_time_seconds')} > {most_s}"

    def gpu_use(self) -> str:
        """Returns the percent of time that GPUs are busy, by container; GKE measures NVIDIA's GPUs."""
        labels = f'monitored_resource="k8s_container",cluster_name="{self.cluster}"'
        duty = f"kubernetes_io:container_accelerator_duty_cycle{{{labels}}}"
        return f"avg by (namespace_name, pod_name, container_name) ({duty})"

    def idle_gpus(self, alerts: Alerts) -> str:
        return f"{self.gpu_use()} < {alerts.idle_gpu_percent}"

    def no_leader(self) -> str:
        """Also returns a series if nothing is scraped at all."""
        return f"(sum({self.series('leader')}) or vector(0)) < 1"

    def refused_writes(self) -> str:
        """Returns the rate of writes that the API server refuses: missing rights, invalid objects."""
        refused = self.series("writes_total", result="refused")
        return f"sum by (kind, verb) (rate({refused}[{BUSY_WINDOW}])) > 0"

    def suspension_blocked(self) -> str:
        return f"sum by (cluster_queue, reason) ({self.series('suspension_blocked_workloads')}) > 0"

    def watch_age_seconds(self) -> str:
        """Returns the age of the last event of each watch, at the replica where it is oldest."""
        return f"max by (watch) ({self.series('watch_age_seconds')})"

    def lost_metrics(self) -> str:
        return f"sum(rate({self.series('metrics_errors_total')}[{BUSY_WINDOW}])) > 0"

    def pass_seconds(self) -> str:
        rate = f"rate({self.series('pass_duration_seconds_bucket')}[{BUSY_WINDOW}])"
        return f"histogram_quantile(0.99, sum by (le) ({rate}))"
