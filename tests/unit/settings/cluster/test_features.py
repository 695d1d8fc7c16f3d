"""Rules of a cluster's features: DNS, backups and dynamic TPU slices, with violating and valid stacks."""

from typing import Any

import pytest

from settings.load import parse
from settings.model.foundation.cluster import Gke
from tests.unit.settings.builders import FILE, GOOD, L4, Case, put, refusal

KEY = "projects/acme-ml/locations/{}/keyRings/ray/cryptoKeys/backups"
CLOUD = {"provider": "cloud-dns"}
IN_VPC = {**CLOUD, "scope": "vpc"}
DNS_SOURCE = "(GKE, Cloud DNS for GKE)"


def cluster(**keys: object) -> dict[str, Any]:
    """Returns the valid stack with these keys in its cluster."""
    return {**GOOD, "muster:cluster": GOOD["muster:cluster"] | keys}


def old(secret_manager: dict[str, Any], version: str) -> dict[str, Any]:
    """Returns a stack of this version with the Secret Manager add-on, and without queued pools, which need a
    later one."""
    pools = put(*L4, "provisioning", "on-demand")["muster:pools"]
    return {**cluster(secretManager=secret_manager, version=version), "muster:pools": pools}


BROKEN = [
    *[
        Case(
            f"{key} with another provider",
            cluster(dns={**dns, key: value}),
            f"muster:cluster.dns.{key}",
            f'"{value}"',
            f"no value without provider: cloud-dns, which alone has it {DNS_SOURCE}",
            "write provider: cloud-dns, or remove it",
        )
        for key, value, dns in [
            ("scope", "vpc", {"provider": "kube-dns"}),
            ("domain", "ray.internal", {"provider": "kube-dns"}),
            ("additiveVpcDomain", "ray.internal", {}),
        ]
    ],
    Case(
        "records in the VPC without a domain",
        cluster(dns=IN_VPC),
        "muster:cluster.dns.domain",
        "nothing",
        f"a domain that no other cluster of the VPC has, other than cluster.local {DNS_SOURCE}",
        "choose one, such as the cluster's name and .local, or write scope: cluster",
    ),
    Case(
        "records in the VPC in the domain that all clusters have",
        cluster(dns={**IN_VPC, "domain": "cluster.local"}),
        "muster:cluster.dns.domain",
        '"cluster.local"',
        f"a domain that no other cluster of the VPC has, other than cluster.local {DNS_SOURCE}",
        "choose one, such as the cluster's name and .local, or write scope: cluster",
    ),
    Case(
        "two domains in the VPC",
        cluster(dns={**IN_VPC, "domain": "ray.internal", "additiveVpcDomain": "ray.vpc"}),
        "muster:cluster.dns.additiveVpcDomain",
        '"ray.vpc"',
        f"no value with scope: vpc, whose `domain` can be read in the whole VPC {DNS_SOURCE}",
        "remove it, or write scope: cluster",
    ),
    Case(
        "backups that are deleted while they are locked",
        cluster(backup={"retainDays": 7, "deleteLockDays": 14}),
        "muster:cluster.backup.retainDays",
        "7",
        "at least 14, the days of deleteLockDays (Backup for GKE: RetentionPolicy)",
        "raise it, or lower `deleteLockDays`",
    ),
    Case(
        "hourly backups for a month",
        cluster(backup={"rpoMinutes": 60}),
        "muster:cluster.backup.retainDays",
        "nothing",
        "at most 15, 360 times rpoMinutes (Backup for GKE: RetentionPolicy)",
        "lower it, or raise `rpoMinutes`",
    ),
    Case(
        "a key of backups that is not in the cluster's region",
        cluster(backup={"kmsKey": KEY.format("global")}),
        "muster:cluster.backup.kmsKey",
        f'"{KEY.format("global")}"',
        "a key in us-west1, where the backup plan is (Backup for GKE, CMEK encryption)",
        "choose or create a key there: keys cannot be moved",
    ),
    Case(
        "dynamic slices in channel regular",
        cluster(sliceController=True),
        "muster:cluster.channel",
        "nothing",
        "rapid, the only channel with the slice controller (GKE, dynamic slicing)",
        "write rapid, or remove `sliceController`",
    ),
    Case(
        "dynamic slices in an old version",
        cluster(sliceController=True, channel="rapid", version="1.35.1-gke.1"),
        "muster:cluster.version",
        '"1.35.1-gke.1"',
        "1.35.2-gke.1842000 or later, for the slice controller (GKE, dynamic slicing)",
        "raise it, or remove `sliceController`",
    ),
    Case(
        "secrets that are rotated by an old version",
        old({"rotationSeconds": 300}, "1.32.1-gke.1002000"),
        "muster:cluster.secretManager.rotationSeconds",
        "300",
        "no value: the add-on updates mounted files from 1.32.2-gke.1059000 on",
        "raise muster:cluster.version, or remove `rotationSeconds`",
    ),
    Case(
        "secrets that are rotated too often",
        cluster(secretManager={"rotationSeconds": 60}),
        "muster:cluster.secretManager.rotationSeconds",
        "60",
        "120 or more",
        "raise it",
    ),
]


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_stack_that_breaks_a_rule_of_a_feature_is_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


KEPT: dict[str, dict[str, Any]] = {
    "kube-dns": cluster(dns={"provider": "kube-dns", "nodeCache": True}),
    "a cache only": cluster(dns={"nodeCache": False}),
    "Cloud DNS with a domain of its own": cluster(dns={**CLOUD, "domain": "ray.internal"}),
    "Cloud DNS with a second domain": cluster(dns={**CLOUD, "additiveVpcDomain": "ray.internal"}),
    "Cloud DNS in the VPC": cluster(dns={**IN_VPC, "domain": "ray.internal"}),
    "daily backups": cluster(backup={}),
    "hourly backups": cluster(backup={"rpoMinutes": 60, "retainDays": 15, "deleteLockDays": 15}),
    "encrypted backups": cluster(backup={"kmsKey": KEY.format("us-west1")}),
    "secrets without rotation on an old version": old({}, "1.30"),
    "rotated secrets": old({"rotationSeconds": 120}, "1.32"),
    "dynamic slices": cluster(sliceController=True, channel="rapid", version="1.35.2-gke.1842000"),
}


@pytest.mark.parametrize("config", KEPT.values(), ids=KEPT.keys())
def test_stack_that_keeps_the_rules_of_features_is_accepted(config: dict[str, Any]) -> None:
    assert isinstance(parse(config, FILE).cluster, Gke)
