"""Alerts as code, each with its meaning and where to look."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import monitoring

from components.base import Component
from components.foundation.google_cloud import GoogleCloud
from components.observability.queries import Queries
from settings.model.observability import Observability

EVALUATION = "60s"
AUTO_CLOSE = "3600s"


@dataclass(frozen=True)
class Alert:
    """Fires once `query` has returned series for `minutes`; `meaning` is Markdown."""

    name: str
    query: str
    minutes: int
    severity: str  # CRITICAL | ERROR | WARNING
    title: str
    meaning: str


def alerts(settings: Observability, queries: Queries) -> Iterator[Alert]:
    """Yields the engine's alerts; KAI exports no queue metrics to alert on."""
    thresholds = settings.alerts
    if queries.engine in ("muster", "kueue"):
        yield Alert(
            "queue-wait",
            queries.queue_wait(thresholds),
            5,
            "WARNING",
            f"a workload waits for more than {thresholds.queue_wait_minutes} min",
            "`kubectl get workloads -A` lists it; its condition QuotaReserved says what it waits for.",
        )
        yield Alert(
            "stuck-provisioning",
            queries.provisioning(thresholds),
            5,
            "WARNING",
            f"capacity has not come for {thresholds.provisioning_minutes} min",
            "`kubectl describe provisioningrequests -A` shows GKE's answer: the zone may be out of capacity, "
            "or a quota of the project may be exhausted. The gang keeps its Muster quota meanwhile.",
        )
        yield Alert(
            "over-quota",
            queries.over_quota(),
            thresholds.over_quota_minutes,
            "WARNING",
            f"a queue has borrowed for {thresholds.over_quota_minutes} min",
            "It uses quota that other queues leave idle, and loses it as soon as they need it. To make this "
            "permanent, move quota to it in the stack's muster:queues.",
        )
    yield Alert(
        "idle-gpus",
        queries.idle_gpus(thresholds),
        thresholds.idle_gpu_minutes,
        "WARNING",
        f"GPUs idle for {thresholds.idle_gpu_minutes} min",
        "The pod requests GPUs but hardly uses them: a forgotten notebook, for example, or a job that hangs.",
    )
    if queries.engine == "muster":
        yield from _controller(queries)


def _controller(queries: Queries) -> Iterator[Alert]:
    look = "see `kubectl -n muster-system get lease,pods` and the logs of these pods."
    yield Alert(
        "no-leader",
        queries.no_leader(),
        5,
        "CRITICAL",
        "no controller is the leader",
        f"No replica of Muster's controller holds the Lease, so no workload is admitted or preempted: {look}",
    )
    yield Alert(
        "refused-writes",
        queries.refused_writes(),
        15,
        "ERROR",
        "the API server rejects the controller's writes",
        f"The controller lacks a permission, or an admission policy rejects its objects: {look}",
    )
    yield Alert(
        "suspension-blocked",
        f"{queries.of('suspension_blocked_workloads')} > 0",
        5,
        "ERROR",
        "a gang does not stop",
        "The condition SuspensionBlocked of its Workload names the cause: pods that do not terminate, for "
        "example on a lost node; finalizers; or KubeRay, which ignores the suspension. The gang holds its "
        "quota until its pods are deleted, and other workloads wait for it.",
    )
    yield Alert(
        "slow-passes",
        f"{queries.of('pass_duration_seconds')} > 30",
        15,
        "WARNING",
        "passes of the controller are slow",
        f"It has too little CPU for its number of workloads, or the API server responds slowly: {look}",
    )
    yield Alert(
        "blind-controller",
        f"{queries.of('watch_age_seconds')} > 90",
        5,
        "ERROR",
        "a watch is stale",
        "A watch of a controller replica receives no events, not even bookmarks. If that replica leads, it "
        "decides on stale state. The API server is down, overloaded or unreachable from the pod: "
        f"{look}",
    )
    yield Alert(
        "lost-metrics",
        f"{queries.of('metrics_errors_total')} > 0",
        15,
        "WARNING",
        "controller metrics are incomplete",
        "Workloads are still admitted, but some metrics, and alerts on them, are missing; the log has the "
        f"cause: {look}",
    )


@dataclass(frozen=True)
class AlertsArgs:
    """`google`: the provider and the project of the alerts."""

    observability: Observability
    queries: Queries
    google: GoogleCloud


class Alerts(Component):
    """One alert policy for each alert, all with the same notification channels."""

    def __init__(self, name: str, args: AlertsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Alerts", name, opts)
        channels = self._channels(args)
        for alert in alerts(args.observability, args.queries):
            self._policy(alert, channels, args)
        self.register_outputs({})

    def _channels(self, args: AlertsArgs) -> list[pulumi.Input[str]]:
        notify = args.observability.notify
        emails = [
            monitoring.NotificationChannel(
                self.named(email),
                project=args.google.project,
                type="email",
                display_name=email,
                labels={"email_address": email},
                user_labels=args.google.labels,
                opts=self.child(provider=args.google.provider),
            ).name
            for email in notify.emails
        ]
        return [*emails, *notify.channels]

    def _policy(self, alert: Alert, channels: Sequence[pulumi.Input[str]], args: AlertsArgs) -> None:
        title = f"{args.queries.cluster}: {alert.title}"
        query = monitoring.AlertPolicyConditionConditionPrometheusQueryLanguageArgs(
            query=alert.query,
            duration=f"{alert.minutes * 60}s",
            evaluation_interval=EVALUATION,
            # the metrics do not exist before the first scrape
            disable_metric_validation=True,
        )
        monitoring.AlertPolicy(
            self.named(alert.name),
            project=args.google.project,
            display_name=title,
            combiner="OR",
            severity=alert.severity,
            conditions=[
                monitoring.AlertPolicyConditionArgs(
                    display_name=alert.title, condition_prometheus_query_language=query
                )
            ],
            documentation=monitoring.AlertPolicyDocumentationArgs(
                subject=title, content=alert.meaning, mime_type="text/markdown"
            ),
            alert_strategy=monitoring.AlertPolicyAlertStrategyArgs(auto_close=AUTO_CLOSE),
            notification_channels=channels,
            user_labels=args.google.labels,
            opts=self.child(provider=args.google.provider),
        )
