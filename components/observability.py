"""What is kept and what is shown of an environment: logs, metrics, dashboards, alerts."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from components.alerts import Alerts, AlertsArgs
from components.base import Component
from components.dashboards import Dashboards, DashboardsArgs
from components.google_cloud import GoogleCloud
from components.kai import NAMESPACE as KAI
from components.kuberay import NAMESPACE as KUBERAY
from components.kueue import NAMESPACE as KUEUE
from components.log_archive import LogArchive, LogArchiveArgs
from components.queries import Queries
from components.reconciler_pod import NAMESPACE as MUSTER
from components.scraping import Scraping, ScrapingArgs
from stacks.cluster import Gke
from stacks.kuberay import KubeRay
from stacks.observability import Observability as ObservabilitySettings

ENGINE_NAMESPACES = {"muster": MUSTER, "kueue": KUEUE, "kai": KAI}


@dataclass(frozen=True)
class ObservabilityArgs:
    """`tenants` are the namespaces in which Ray runs."""

    observability: ObservabilitySettings
    cluster: Gke
    engine: str
    kuberay: KubeRay
    tenants: Sequence[str]
    google: GoogleCloud


class Observability(Component):
    """What the cluster tells, kept where it stays when the cluster goes."""

    def __init__(
        self, name: str, args: ObservabilityArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("Observability", name, opts)
        wanted, cluster, google = args.observability, args.cluster, args.google
        queries = Queries(args.engine, cluster.name)
        logs = LogArchiveArgs(
            cluster=cluster.name,
            location=cluster.location,
            namespaces=[*args.tenants, KUBERAY, ENGINE_NAMESPACES[args.engine]],
            logs=wanted.logs,
            google=google,
            protect=cluster.deletion_protection,
        )
        LogArchive("log-archive", logs, self.child())
        addon = args.kuberay.install == "addon"
        scraping = ScrapingArgs(
            engine=args.engine,
            kuberay=args.kuberay.install == "helm",
            ray=not (addon and args.kuberay.addon.monitoring),
            interval_seconds=wanted.scrape_seconds,
        )
        Scraping("scraping", scraping, self.child())
        Dashboards("dashboards", DashboardsArgs(queries, google), self.child())
        Alerts("alerts", AlertsArgs(wanted, queries, google), self.child())
        self.register_outputs({})
