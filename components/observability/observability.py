"""Observability of an environment: logs, metrics, dashboards, alerts."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from components.base import Component
from components.controller.pod import NAMESPACE as MUSTER
from components.foundation.google_cloud import GoogleCloud
from components.observability.alerts import Alerts, AlertsArgs
from components.observability.dashboards import Dashboards, DashboardsArgs
from components.observability.log_archive import LogArchive, LogArchiveArgs
from components.observability.queries import Queries
from components.observability.scraping import Scraping, ScrapingArgs
from components.operators.kai import NAMESPACE as KAI
from components.operators.kuberay import NAMESPACE as KUBERAY
from components.operators.kueue import NAMESPACE as KUEUE
from settings.model.foundation.cluster import Gke
from settings.model.observability import Observability as ObservabilitySettings
from settings.model.operators.kuberay import KubeRay
from settings.model.split import PARTS, Part

ENGINE_NAMESPACES = {"muster": MUSTER, "kueue": KUEUE, "kai": KAI}


@dataclass(frozen=True)
class ObservabilityArgs:
    """`tenants` are the namespaces that Ray runs in; `parts`: deployed by the stack."""

    observability: ObservabilitySettings
    cluster: Gke
    engine: str
    kuberay: KubeRay
    tenants: Sequence[str]
    google: GoogleCloud
    parts: frozenset[Part] = frozenset(PARTS)


class Observability(Component):
    """Logs, metrics, dashboards and alerts, kept outside the cluster; `archive` is the bucket of old logs."""

    def __init__(
        self, name: str, args: ObservabilityArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("Observability", name, opts)
        self.archive: pulumi.Output[str] | None = None
        if "tenants" in args.parts:
            self.archive = LogArchive("log-archive", _logs(args), self.child()).bucket
        if "cluster" in args.parts:
            self._metrics(args)
        self.register_outputs({})

    def _metrics(self, args: ObservabilityArgs) -> None:
        settings, google = args.observability, args.google
        queries = Queries(args.engine, args.cluster.name)
        addon = args.kuberay.install == "addon"
        scraping = ScrapingArgs(
            engine=args.engine,
            kuberay=args.kuberay.install == "helm",
            ray=not (addon and args.kuberay.addon.monitoring),
            interval_seconds=settings.scrape_seconds,
        )
        Scraping("scraping", scraping, self.child())
        Dashboards("dashboards", DashboardsArgs(queries, google), self.child())
        Alerts("alerts", AlertsArgs(settings, queries, google), self.child())


def _logs(args: ObservabilityArgs) -> LogArchiveArgs:
    """Returns the settings of logs, which name the tenants' namespaces."""
    return LogArchiveArgs(
        cluster=args.cluster.name,
        location=args.cluster.location,
        namespaces=[*args.tenants, KUBERAY, ENGINE_NAMESPACES[args.engine]],
        logs=args.observability.logs,
        google=args.google,
        protect=args.cluster.deletion_protection,
    )
