"""Stacks with values that resemble a mistake and are none."""

from typing import Any

import pytest

from settings.load import parse
from tests.unit.settings.builders import FILE, GOOD, L4, SYSTEM, TEAM_A, put, with_pool
from tests.unit.settings.pools.builders import COMPACT, CPU, H100, SPOT


def with_cluster(**keys: Any) -> dict[str, Any]:
    return put("muster:cluster", {**GOOD["muster:cluster"], **keys})


def tenant(**keys: Any) -> dict[str, Any]:
    return put("muster:tenants", 0, {**GOOD["muster:tenants"][0], **keys})


def bucket_in(location: str) -> dict[str, Any]:
    return tenant(identity={}, checkpoints={"bucket": "acme-ml-checkpoints", "location": location})


SHARED = "projects/acme-shared"
UNUSUAL: dict[str, dict[str, Any]] = {
    "a project in an organization's domain": put("gcp:project", "example.com:ray-prod"),
    "labels with digits and underscores": with_cluster(labels={"cost_center": "4711", "team": ""}),
    "a label of a domain of one's own": put(*L4, "labels", {"example.com/purpose": "Batch.v2"}),
    "a label that kubelets cannot set": put(*L4, "labels", {"node-restriction.kubernetes.io/team": "a"}),
    "a network of another project": with_cluster(
        network=f"{SHARED}/global/networks/ray",
        subnetwork=f"{SHARED}/regions/us-west1/subnetworks/ray",
        podsRange="pods",
        servicesRange="services",
    ),
    "a fleet of another project": with_cluster(fleet="acme-fleet"),
    "a bucket in a multi-region": bucket_in("EU"),
    "a bucket in a dual-region": bucket_in("nam4"),
    "a bucket in a region in capitals": bucket_in("US-EAST5"),
    "ranges next to Docker's": {
        **GOOD,
        "muster:network": {"name": "ray", "subnet": {"pods": "172.20.0.0/14"}},
    },
    "the largest range for Services": {
        **GOOD,
        "muster:network": {"name": "ray", "subnet": {"services": "10.64.0.0/16"}},
    },
    "as many initial nodes as the maximum in three zones": {
        **put("muster:pools", 0, {**SYSTEM, "nodes": {"max": 3, "initial": 1}}),
        "muster:cluster": {**GOOD["muster:cluster"], "location": "us-west1"},
    },
    "compact placement of N2": with_pool({**CPU, **COMPACT}),
    "an SSD for H100": with_pool({**H100, **SPOT, "bootDisk": {"type": "pd-ssd", "sizeGb": 65536}}),
    "as many GPUs as the pool has": put(*TEAM_A, "quotas", "l4", "nvidia.com/gpu", 10),
    "a hard limit of MIG partitions": tenant(resourceQuota={"requests.nvidia.com/mig-1g.5gb": 4}),
    "a count of another operator's kind": tenant(resourceQuota={"count/jobs.batch": 10}),
    "the oldest Kueue": put("muster:kueue", {"version": "0.15.0"}),
    "one backoff for all retries": put(
        "muster:admission", "queuedProvisioning", {"retry": {"baseSeconds": 60, "maxSeconds": 60}}
    ),
    "namespaces by the tenant's name": put(*TEAM_A, "namespaces", {"kubernetes.io/metadata.name": "team-a"}),
    "keys of other packages": {**GOOD, "aws:region": "us-east-1", "gcp:zone": "us-west1-b"},
}


@pytest.mark.parametrize("config", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_unusual_values_are_accepted(config: dict[str, Any]) -> None:
    assert parse(config, FILE).pools
