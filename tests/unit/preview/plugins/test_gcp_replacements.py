"""Changes that recreate a Google Cloud resource."""

from typing import Any

import pytest

from preview.plugins.gcp_replacements import (
    CONDITIONS,
    REPLACES,
    UNMARKED,
    delete_first,
    has_rules,
    replacing,
)
from preview.plugins.sdk_properties import Sdk
from preview.resources.differences import differences, property_path
from preview.resources.values import UNKNOWN, Secret

POOL = "gcp:container/nodePool:NodePool"
CLUSTER = "gcp:container/cluster:Cluster"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
MEMBER = "gcp:projects/iAMMember:IAMMember"


def recreated_by(token: str, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    changes = dict(differences(old, new))
    assert changes, "the case must change something"
    return sorted(property_path(path) for path in replacing(token, old, new, changes))


def gpu(**other: Any) -> dict[str, Any]:
    return {"nodeConfig": {"guestAccelerators": [{"type": "nvidia-l4", "count": 1, **other}]}}


@pytest.mark.parametrize(
    ("token", "old", "new", "recreating"),
    [
        pytest.param(POOL, gpu(), gpu(count=2), ["nodeConfig.guestAccelerators[0].count"], id="more GPUs"),
        pytest.param(
            POOL,
            gpu(),
            gpu(gpuSharingConfig={"gpuSharingStrategy": "MPS"}),
            ["nodeConfig.guestAccelerators[0].gpuSharingConfig"],
            id="shared GPUs",
        ),
        pytest.param(
            POOL,
            {"nodeConfig": {}},
            gpu(),
            ["nodeConfig.guestAccelerators"],
            id="GPUs on a pool without GPUs",
        ),
        pytest.param(
            POOL,
            {},
            {"queuedProvisioning": {"enabled": True}},
            ["queuedProvisioning"],
            id="queued switched on",
        ),
        pytest.param(
            POOL,
            {"queuedProvisioning": {"enabled": True}},
            {"queuedProvisioning": {"enabled": False}},
            ["queuedProvisioning.enabled"],
            id="queued switched off",
        ),
        pytest.param(
            POOL, {"nodeConfig": {"spot": True}}, {"nodeConfig": {}}, ["nodeConfig.spot"], id="no longer spot"
        ),
        pytest.param(
            POOL,
            {"placementPolicy": {"type": "COMPACT", "tpuTopology": "2x2"}},
            {"placementPolicy": {"type": "COMPACT", "tpuTopology": "4x4"}},
            ["placementPolicy.tpuTopology"],
            id="another topology",
        ),
        pytest.param(
            POOL,
            {"nodeConfig": {"oauthScopes": ["a"]}},
            {"nodeConfig": {"oauthScopes": ["a", "b"]}},
            ["nodeConfig.oauthScopes[1]"],
            id="an entry added to a list",
        ),
        pytest.param(
            POOL,
            {
                "nodeConfig": {"machineType": "g2-standard-4", "labels": {}, "taints": [], "diskSizeGb": 100},
                "autoscaling": {"maxNodeCount": 1},
                "management": {"autoRepair": True},
                "networkConfig": {"enablePrivateNodes": False},
            },
            {
                "nodeConfig": {
                    "machineType": "g2-standard-8",
                    "labels": {"a": "b"},
                    "taints": [{"key": "a"}],
                    "diskSizeGb": 200,
                },
                "autoscaling": {"maxNodeCount": 2},
                "management": {"autoRepair": False},
                "networkConfig": {"enablePrivateNodes": True},
            },
            [],
            id="properties that GKE changes in place",
        ),
        pytest.param(
            POOL, {}, {"networkConfig": {"enablePrivateNodes": True}}, [], id="a block without a forcing part"
        ),
        pytest.param(
            POOL,
            {},
            {"networkConfig": {"enablePrivateNodes": True, "podRange": "pods"}},
            ["networkConfig"],
            id="a block with a forcing part",
        ),
        pytest.param(
            POOL,
            {"nodeConfig": {"sandboxConfig": {"sandboxType": "gvisor"}}},
            {"nodeConfig": {"sandboxConfig": {"type": "GVISOR"}}},
            [],
            id="inside a block that only counts as a whole",
        ),
        pytest.param(
            POOL,
            {"nodeConfig": {"sandboxConfig": {"type": "GVISOR"}}},
            {"nodeConfig": {}},
            ["nodeConfig.sandboxConfig"],
            id="a block that counts as a whole",
        ),
        pytest.param(CLUSTER, {"location": "a"}, {"location": "b"}, ["location"], id="another location"),
        pytest.param(
            CLUSTER, {"network": "a"}, {"network": UNKNOWN}, ["network"], id="a network not created yet"
        ),
        pytest.param(
            CLUSTER,
            {"releaseChannel": {"channel": "REGULAR"}, "minMasterVersion": "1.35"},
            {"releaseChannel": {"channel": "STABLE"}, "minMasterVersion": "1.36"},
            [],
            id="upgrade",
        ),
        pytest.param(
            CLUSTER,
            {"nodePools": [{"nodeConfig": {"spot": True}}]},
            {"nodePools": [{"nodeConfig": {"spot": False}}]},
            ["nodePools[0].nodeConfig.spot"],
            id="a pool inside a cluster",
        ),
        pytest.param(
            CLUSTER,
            {"enableFqdnNetworkPolicy": False},
            {"enableFqdnNetworkPolicy": True},
            [],
            id="a policy switched on",
        ),
        pytest.param(
            CLUSTER,
            {"enableFqdnNetworkPolicy": True},
            {"enableFqdnNetworkPolicy": False},
            ["enableFqdnNetworkPolicy"],
            id="a policy switched off",
        ),
        pytest.param(
            CLUSTER,
            {"enableK8sBetaApis": {"enabledApis": ["a"]}},
            {"enableK8sBetaApis": {"enabledApis": ["b", "a"]}},
            [],
            id="a beta API added",
        ),
        pytest.param(
            CLUSTER,
            {"enableK8sBetaApis": {"enabledApis": ["a", "b"]}},
            {"enableK8sBetaApis": {"enabledApis": ["a"]}},
            ["enableK8sBetaApis.enabledApis[1]"],
            id="a beta API removed",
        ),
        pytest.param(
            SUBNETWORK,
            {"ipCidrRange": "10.0.0.0/20"},
            {"ipCidrRange": "10.0.0.0/19"},
            [],
            id="a subnet grows",
        ),
        pytest.param(
            SUBNETWORK,
            {"ipCidrRange": "10.0.0.0/20"},
            {"ipCidrRange": "10.0.0.0/21"},
            ["ipCidrRange"],
            id="a subnet shrinks",
        ),
        pytest.param(
            "gcp:storage/bucket:Bucket",
            {"location": "US", "labels": {}},
            {"location": "EU", "labels": {"a": "b"}},
            ["location"],
            id="another location of a bucket",
        ),
        pytest.param(
            MEMBER,
            {"role": "roles/a", "member": "b"},
            {"role": "roles/c", "member": "b"},
            ["role"],
            id="grant",
        ),
        pytest.param(
            POOL,
            {"nodeConfig": {"serviceAccount": Secret("a")}},
            {"nodeConfig": {"serviceAccount": Secret("b")}},
            ["nodeConfig.serviceAccount"],
            id="secret",
        ),
        pytest.param("gcp:imaginary/a:A", {"name": "a"}, {"name": "b"}, [], id="a type without rules"),
    ],
)
def test_change_recreates_the_resource_only_by_a_rule(
    token: str, old: dict[str, Any], new: dict[str, Any], recreating: list[str]
) -> None:
    assert recreated_by(token, old, new) == recreating


@pytest.mark.parametrize("token", sorted({*REPLACES, *UNMARKED, *CONDITIONS}))
def test_every_rule_names_a_property(token: str) -> None:
    sdk = Sdk("pulumi_gcp")
    names = [*REPLACES.get(token, ()), *UNMARKED.get(token, ()), *CONDITIONS.get(token, {})]
    missing = [name for name in names if not exists(sdk, token, name.removesuffix("#").split("."))]
    assert missing == []


def exists(sdk: Sdk, token: str, path: list[str]) -> bool:
    """Returns whether the SDK has a property at that path; each step is a mapping or a list of mappings."""
    inputs: list[dict[str, Any]] = [{path[-1]: None}]
    for step in reversed(path[:-1]):
        inputs = [{step: held} for inner in inputs for held in (inner, [inner])]
    return any(not list(sdk.problems(token, candidate)) for candidate in inputs)


def test_types_with_rules_are_known() -> None:
    assert has_rules(POOL)
    assert has_rules(MEMBER)
    assert not has_rules("gcp:imaginary/a:A")


@pytest.mark.parametrize(
    ("old", "new", "first"),
    [
        ({"name": "l4"}, {"name": "l4"}, True),
        ({"name": "l4"}, {"name": "l4-b"}, False),
        ({"role": "a"}, {"role": "b"}, False),
    ],
)
def test_resource_of_the_same_name_is_deleted_first(
    old: dict[str, Any], new: dict[str, Any], first: bool
) -> None:
    assert delete_first(old, new) is first
