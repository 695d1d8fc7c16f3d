"""Two clusters of one project: their Google Cloud resources share no name."""

from copy import deepcopy
from typing import Any

import pytest
import yaml

from tests.unit.components.harness import Declarations, declare_platform
from tools.toolchain.paths import CHECKOUT

STACK = yaml.safe_load((CHECKOUT / "tests/stacks/earlier/Pulumi.accounts.yaml").read_text())["config"]
# Inputs that name a resource in its project; the names of all other resources are Google's.
NAMES = ("accountId", "bucketId", "name", "repositoryId")
# Users name buckets, and accounts whose ID they set.
CHOSEN = {"acme-ml-journal", "acme-ml-team-a", "team-b-jobs"}
# Named within their cluster.
OF_CLUSTERS = ("NodePool",)


def stack(**cluster: str) -> dict[str, Any]:
    """Returns a stack with each kind of named resource, with another cluster."""
    config: dict[str, Any] = deepcopy(STACK)
    config["muster:cluster"] |= cluster
    config["muster:controller"]["build"]["repository"] = f"images-{cluster['location']}"
    return config


def names(declared: Declarations) -> set[tuple[str, str]]:
    google = [resource for resource in declared.values() if resource.type.startswith("gcp:")]
    return {
        (resource.type, resource.inputs[key])
        for resource in google
        for key in NAMES
        if key in resource.inputs and not resource.type.endswith(OF_CLUSTERS)
    }


@pytest.mark.parametrize(
    "other",
    [
        {"name": "ray-production-inference-us-central2", "location": "us-central1"},
        {"name": "ray-production-inference-us-central1", "location": "us-central1-c"},
    ],
    ids=["another name, equal in its first 30 characters", "the same name in a zone of the region"],
)
def test_two_clusters_of_one_project_share_no_name(other: dict[str, str]) -> None:
    first, second = (
        names(declare_platform(config))
        for config in (
            stack(name="ray-production-inference-us-central1", location="us-central1"),
            stack(**other),
        )
    )
    shared = {name for name in first & second if name[1] not in CHOSEN}
    # The registry is named here; a cluster is named in its location.
    cluster = ("gcp:container/cluster:Cluster", "ray-production-inference-us-central1")
    assert shared - {cluster, ("gcp:artifactregistry/repository:Repository", "images-us-central1")} == set()
    assert len(first) > 10
