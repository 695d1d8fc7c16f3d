"""Outputs of a stack, which other stacks read by StackReference (docs/several-clusters.md)."""

from collections.abc import Mapping
from typing import Any

import pulumi

from components.controller.journal import JournalPlace
from components.foundation.existing import ExistingCluster
from components.foundation.foundation import Foundation
from components.foundation.joined import JoinedCluster
from components.tenants.tenants import Tenants
from settings.model.foundation.existing import Existing
from settings.model.stack import Settings


def outputs(
    settings: Settings,
    cluster: Foundation | ExistingCluster | JoinedCluster,
    tenants: Tenants | None,
    journal: JournalPlace | None,
    archive: pulumi.Output[str] | None,
) -> dict[str, Any]:
    """Returns the outputs by name; what the stack does not have is left out."""
    accounts = {"nodes": cluster.nodes_account, "controller": journal.email if journal else None}
    buckets = {"journal": journal.bucket if journal else None, "logs": archive}
    return {
        "cluster": cluster.name,
        "engine": settings.admission.engine,
        "kubectl": _kubectl(settings),
        "accounts": _existing(accounts),
        "buckets": _existing(buckets),
        **(_of_tenants(settings, tenants) if tenants else {}),
        **(_of_gke(settings, cluster) if isinstance(cluster, Foundation) else {}),
    }


def _of_tenants(settings: Settings, tenants: Tenants) -> dict[str, Any]:
    return {
        "queues": settings.local_queues,
        "serving": tenants.addresses,
        "tenantAccounts": tenants.accounts,
        "tenantBuckets": tenants.buckets,
    }


def _existing(values: Mapping[str, pulumi.Input[str] | None]) -> dict[str, pulumi.Input[str]]:
    return {name: value for name, value in values.items() if value is not None}


def _of_gke(settings: Settings, cluster: Foundation) -> dict[str, Any]:
    """Returns the outputs of a cluster that the stack created.

    The kubeconfig has no credentials, but a secret output stays out of logs and of pull requests.
    """
    return {
        "project": settings.project,
        "location": cluster.google.cluster.location,
        "clusterId": cluster.cluster_id,
        "endpoint": cluster.endpoint,
        "privateAddress": cluster.private_address,
        "kubeconfig": pulumi.Output.secret(cluster.kubeconfig),
        "network": {"network": cluster.network, "subnetwork": cluster.subnetwork},
        "nodePools": cluster.node_pools,
    }


def _kubectl(settings: Settings) -> str:
    """Returns the stack's `kubectl` output: a command that logs in and lists the queues."""
    kai = settings.admission.engine == "kai"
    kinds = "queues.scheduling.run.ai,podgroups" if kai else "clusterqueues,localqueues,workloads"
    cluster, look = settings.cluster, f"get {kinds} --all-namespaces"
    if isinstance(cluster, Existing):
        return f"kubectl --context {cluster.context} {look}" if cluster.context else f"kubectl {look}"
    login = f"gcloud container clusters get-credentials {cluster.name}"
    return f"{login} --location {cluster.location} --project {settings.project} && kubectl {look}"
