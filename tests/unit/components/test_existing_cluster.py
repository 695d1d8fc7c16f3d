"""Tests of what a stack adds to a cluster that it does not create."""

from typing import Any

import pytest

from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.settings.builders import EXISTING, GOOD, put

JOINED: dict[str, Any] = {
    "kind": "existing",
    "name": "shared",
    "context": "shared",
    "gke": {"location": "us-west1-b", "labels": {"team": "ml"}},
}
SYSTEM, L4 = GOOD["muster:pools"]
NODES = "shared-pools-d8c074@acme-ml.iam.gserviceaccount.com"
POOLS = [{**SYSTEM, "existing": True}, L4]


def joined(**more: Any) -> dict[str, Any]:
    """Returns a stack that adds a queued pool to a GKE cluster with a system pool."""
    return {**GOOD, "muster:cluster": JOINED, "muster:pools": POOLS, **more}


@pytest.fixture(scope="module")
def declared() -> Declarations:
    return declare_platform(joined())


def test_only_pools_that_are_not_there_are_added(declared: Declarations) -> None:
    pool = declared["NodePool/l4"]

    assert declared.kinds("Cluster", "NodePool") == ["NodePool/l4"]
    keys = ("cluster", "location", "project", "deletionPolicy")
    assert [pool.inputs[key] for key in keys] == ["shared", "us-west1-b", "acme-ml", "PREVENT"]
    assert pool.inputs["nodeConfig"]["serviceAccount"] == NODES
    assert pool.protect
    assert "Service/container" in pool.depends_on


def test_flavors_are_of_all_pools(declared: Declarations) -> None:
    assert declared.kinds("ResourceFlavor") == ["ResourceFlavor/cpu", "ResourceFlavor/l4"]
    assert declared.spec("ResourceFlavor/cpu")["nodeLabels"] == {"cloud.google.com/gke-nodepool": "system"}


def test_objects_inside_are_created_after_the_pools(declared: Declarations) -> None:
    assert "NodePool/l4" in declared["Release/kuberay-operator"].depends_on
    assert declared["ClusterQueue/team-a"].provider == "kubernetes/kubernetes"
    assert declared.inputs("kubernetes/kubernetes")["context"] == "shared"


def test_tenants_have_buckets_and_identities_in_its_project() -> None:
    tenant = {**GOOD["muster:tenants"][0], "identity": {}, "checkpoints": {"bucket": "acme-ml-team-a"}}
    declared = declare_platform(joined(**{"muster:tenants": [tenant]}))

    bucket = declared["Bucket/acme-ml-team-a"]
    assert (bucket.inputs["location"], bucket.inputs["labels"]) == (
        "US-WEST1",
        {"team": "ml", "tenant": "team-a"},
    )
    assert bucket.protect


def test_the_controller_is_built_and_keeps_its_journal_there() -> None:
    controller = {"build": {}, "journal": {"bucket": "acme-ml-journal"}}
    declared = declare_platform(joined(**{"muster:controller": controller}))

    assert declared.kinds("Repository", "Bucket") == ["Bucket/journal", "Repository/shared-muster"]


def test_nothing_is_protected_where_that_is_switched_off() -> None:
    cluster = {**JOINED, "gke": {"location": "us-west1-b", "deletionProtection": False}}
    declared = declare_platform(joined(**{"muster:cluster": cluster}))

    assert not declared["NodePool/l4"].protect
    assert not declared["Namespace/team-a"].protect


def test_a_cluster_with_all_of_its_pools_gets_no_account() -> None:
    config = joined(**{"muster:pools": [{**pool, "existing": True} for pool in POOLS]})

    assert declare_platform(config).kinds("NodePool", "Account", "IAMMember") == []


@pytest.mark.parametrize("cluster", [EXISTING, {**EXISTING, "context": "here"}], ids=["current", "named"])
def test_a_cluster_elsewhere_gets_nothing_in_google_cloud(cluster: dict[str, Any]) -> None:
    declared = declare_platform(put("muster:cluster", cluster))

    assert [name for name, resource in declared.items() if resource.type.startswith("gcp:")] == []
