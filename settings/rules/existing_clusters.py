"""Rules of a cluster that exists: its context in the kubeconfig, and its API server's ports."""

import re
from collections.abc import Iterator

from settings.model.foundation.existing import Existing
from settings.model.stack import Settings
from settings.problems import Finding
from settings.rules.registry import rule

# Contexts that `gcloud container clusters get-credentials` writes.
CONTEXT = re.compile(r"gke_(?P<project>[^_]+)_(?P<location>[^_]+)_(?P<name>[^_]+)")
API_PORT = 443  # of GKE's control planes


@rule("project", "cluster")
def contexts_are_of_the_cluster(settings: Settings) -> Iterator[Finding]:
    """A context of gcloud names project, location and cluster: another one would deploy into another cluster
    (gcloud container clusters get-credentials)."""
    cluster = settings.cluster
    if not isinstance(cluster, Existing) or cluster.gke is None or cluster.context is None:
        return
    named = CONTEXT.fullmatch(cluster.context)
    here = f"gke_{settings.project}_{cluster.gke.location}_{cluster.name}"
    if named and cluster.context != here:
        yield Finding(
            ("muster:cluster", "context"),
            f"the context of this cluster, {here}: the stack's objects would be in another cluster than its "
            "node pools",
            "write it, or correct `name`, `gke.location` or gcp:project",
        )


@rule("cluster")
def control_planes_have_their_port(settings: Settings) -> Iterator[Finding]:
    """GKE's control planes listen on port 443: heads with NetworkPolicies of other ports do not reach them
    (docs/elastic.md, network policies)."""
    cluster = settings.cluster
    if not isinstance(cluster, Existing) or cluster.gke is None:
        return
    for i, server in enumerate(cluster.api_server):
        if server.ports and API_PORT not in server.ports:
            yield Finding(
                ("muster:cluster", "apiServer", i, "ports"),
                f"a list with {API_PORT}, the port of GKE's control planes",
                f"add {API_PORT}, or remove `ports`",
            )
