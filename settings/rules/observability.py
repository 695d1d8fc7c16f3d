"""Rules of observability."""

from collections.abc import Iterator

from settings.model.foundation.existing import Existing
from settings.model.observability import COLLECTOR_NAMESPACES
from settings.model.stack import Settings
from settings.problems import Finding
from settings.rules.registry import rule


@rule("cluster", "observability")
def observability_is_google_clouds(settings: Settings) -> Iterator[Finding]:
    """Logs, metrics and alerts go to Google Cloud, so they require a GKE cluster."""
    if settings.observability is not None and isinstance(settings.cluster, Existing):
        yield Finding(
            ("muster:observability",),
            "a GKE cluster: logs, metrics and alerts go to Google Cloud",
            "remove it; the controller serves /metrics for a Prometheus of your own",
        )


@rule("project", "observability")
def channels_are_of_the_project(settings: Settings) -> Iterator[Finding]:
    """Alerts notify channels of their own project: those of another one are not found
    (terraform-provider-google#25878)."""
    notify = settings.observability.notify if settings.observability else None
    for i, channel in enumerate(notify.channels if notify else ()):
        project = channel.split("/")[1]
        if project != settings.project and not project.isdecimal():
            yield Finding(
                ("muster:observability", "notify", "channels", i),
                f"a channel of project {settings.project}, whose alerts notify it (Cloud Monitoring)",
                "create the channel there",
            )


@rule("cluster", "pools", "controller", "observability")
def metrics_are_collected(settings: Settings) -> Iterator[Finding]:
    """Alerts and dashboards require metrics that Google's managed Prometheus scrapes, and the logs of Ray's
    pods (Managed Service for Prometheus; GKE API: LoggingConfig)."""
    cluster = settings.cluster
    if settings.observability is None or isinstance(cluster, Existing):
        return
    if not cluster.managed_prometheus:
        yield Finding(
            ("muster:cluster", "managedPrometheus"),
            "true: muster:observability requires the metrics of managed Prometheus",
            "remove the line, or remove muster:observability",
        )
    controller = settings.controller
    if controller and not {*COLLECTOR_NAMESPACES} & {*controller.metrics_from}:
        yield Finding(
            ("muster:controller", "metricsFrom"),
            f"a list with {' or '.join(COLLECTOR_NAMESPACES)}, whose pods scrape the metrics that "
            "muster:observability requires",
            "remove the line, or muster:observability",
        )
    if "dcgm" not in cluster.metrics and any(pool.gpu for pool in settings.pools):
        yield Finding(
            ("muster:cluster", "metrics"),
            "a list with dcgm: the alert and the charts of idle GPUs require NVIDIA's metrics",
            "add dcgm, or remove muster:observability",
        )
    if "workloads" not in cluster.logs:
        yield Finding(
            ("muster:cluster", "logs"),
            "a list with workloads: muster:observability keeps the logs of Ray's pods",
            "add workloads, or remove muster:observability",
        )
