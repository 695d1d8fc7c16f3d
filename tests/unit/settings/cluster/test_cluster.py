"""Rules of the cluster, each with a violating and a valid stack."""

from typing import Any

import pytest

from settings.load import parse
from settings.model.foundation.cluster import Gke
from settings.model.foundation.existing import Existing
from tests.unit.settings.builders import EXISTING, FILE, GOOD, L4, Case, put, refusal
from tests.unit.settings.pools.builders import GPUDIRECT_H100

KEY = "projects/acme-ml/locations/{}/keyRings/ray/cryptoKeys/etcd"
OFFICE = {"office": "203.0.113.0/24"}
# The most that the valid stack's pools may have: 3 machines with 4 CPUs and 16 GB, and 10 with an L4 too.
LIMITS = {"cpu": {"max": 52}, "memory": {"max": 208}, "accelerators": {"nvidia-l4": {"max": 10}}}


def with_cluster(**keys: object) -> dict[str, Any]:
    """Returns the valid stack with these keys in its cluster."""
    return {**GOOD, "muster:cluster": GOOD["muster:cluster"] | keys}


def limits(resource: str, **limit: int) -> dict[str, Any]:
    return with_cluster(nodeAutoProvisioning={**LIMITS, resource: limit})


IN_GKE: dict[str, Any] = {**EXISTING, "gke": {"location": "us-west1-b"}}
NO_AUTOPILOT = (
    "false: Autopilot makes nodes by itself and has no node pools, so flavors would have no nodes, quotas no "
    "capacity behind them, and gangs no pool for queued provisioning"
)

BROKEN = [
    Case(
        "a GKE cluster without a project",
        put("gcp:project", None),
        "gcp:project",
        "nothing",
        "the Google Cloud project that the cluster belongs to",
        "add `gcp:project`",
    ),
    Case(
        "a GKE setting for an existing cluster",
        {**GOOD, "muster:cluster": EXISTING | {"privateNodes": True}},
        "muster:cluster",
        '{"kind": "existing", "name": "sandbox", "privateNodes": true}',
        "no privateNodes: only clusters that the stack creates have such keys",
        "remove them, or write kind: gke",
    ),
    Case(
        "the location of an existing cluster, outside of gke",
        {**GOOD, "muster:cluster": EXISTING | {"location": "us-west1"}},
        "muster:cluster",
        '{"kind": "existing", "name": "sandbox", "location": "us-west1"}',
        "no location: only clusters that the stack creates have such keys; write location below `gke`",
        "remove them, or write kind: gke",
    ),
    Case(
        "an existing GKE cluster without a project",
        {**put("gcp:project", None), "muster:cluster": IN_GKE},
        "gcp:project",
        "nothing",
        "the Google Cloud project that the cluster belongs to",
        "add `gcp:project`",
    ),
    Case(
        "a new Autopilot cluster",
        with_cluster(autopilot=True),
        "muster:cluster.autopilot",
        "true",
        NO_AUTOPILOT,
        "use a Standard cluster; nodeAutoProvisioning creates nodes in addition to its pools",
    ),
    Case(
        "an existing Autopilot cluster",
        {**GOOD, "muster:cluster": {**IN_GKE, "autopilot": True}},
        "muster:cluster.autopilot",
        "true",
        NO_AUTOPILOT,
        "use a Standard cluster; nodeAutoProvisioning creates nodes in addition to its pools",
    ),
    *[
        Case(
            f"an existing pool of {name}",
            put("muster:pools", 0, "existing", True) | {"muster:cluster": cluster},
            "muster:pools[0].existing",
            "true",
            "no value: it marks the pools that a GKE cluster created elsewhere already has "
            "(kind existing, with `gke`)",
            "remove it",
        )
        for name, cluster in {
            "a new cluster": GOOD["muster:cluster"],
            "a cluster elsewhere": EXISTING,
        }.items()
    ],
    Case(
        "a pool that is added in another region",
        put(*L4, "zones", ["us-east1-b"]) | {"muster:cluster": IN_GKE},
        "muster:pools[1].zones[0]",
        '"us-east1-b"',
        "a zone of us-west1, where the cluster is (GKE API: NodePool.locations)",
        "choose one, such as us-west1-a",
    ),
    Case(
        "GPUDirect added to an existing cluster",
        put("muster:pools", 2, GPUDIRECT_H100) | {"muster:cluster": IN_GKE},
        "muster:pools[2].gpudirect",
        '"tcpx"',
        "no value: the stack creates networks for GPU traffic only in clusters that it creates",
        "create the node pool with the cluster, and write `existing: true`",
    ),
    Case(
        "nodes in another region",
        with_cluster(location="us-west1", zones=["us-west1-a", "us-east1-b"]),
        "muster:cluster.zones[1]",
        '"us-east1-b"',
        "a zone of us-west1",
        "choose one of them",
    ),
    Case(
        "a zonal cluster's own zone",
        with_cluster(zones=["us-west1-b"]),
        "muster:cluster.zones[0]",
        '"us-west1-b"',
        "zones other than us-west1-b, which a cluster in that zone always has",
        "remove it",
    ),
    Case(
        "a zone twice",
        with_cluster(zones=["us-west1-a", "us-west1-a"]),
        "muster:cluster.zones[1]",
        '"us-west1-a"',
        "each value once",
        "remove all but the intended one",
    ),
    Case(
        "a public endpoint without authorized networks",
        with_cluster(publicEndpoint=True),
        "muster:cluster.authorizedNetworks",
        "nothing",
        "at least one entry: only these networks reach a public endpoint (CIS GKE 5.6.3)",
        "add one, such as {office: 203.0.113.0/24}, or remove `publicEndpoint`",
    ),
    Case(
        "no access to the control plane",
        with_cluster(dnsEndpoint=False),
        "muster:cluster.authorizedNetworks",
        "nothing",
        "at least one entry: without a DNS endpoint only these networks reach the control plane "
        "(GKE, network isolation)",
        "add one, such as {vpn: 10.200.0.0/16}, or write dnsEndpoint: true",
    ),
    Case(
        "a control plane open to the internet",
        with_cluster(publicEndpoint=True, authorizedNetworks={"all": "0.0.0.0/0"}),
        "muster:cluster.authorizedNetworks.all",
        '"0.0.0.0/0"',
        "a network smaller than the whole internet (CIS GKE 5.6.3)",
        "write your networks, or remove it: the DNS endpoint serves any network and uses IAM",
    ),
    Case(
        "a key in another region",
        with_cluster(secretsEncryption=KEY.format("global")),
        "muster:cluster.secretsEncryption",
        f'"{KEY.format("global")}"',
        "a key in us-west1, where the cluster is (GKE, application-layer secrets encryption)",
        "choose or create a key there: keys cannot be moved",
    ),
    Case(
        "resource claims on a version without them",
        with_cluster(dynamicResourceAllocation=True, version="1.31")
        | {"muster:pools": [GOOD["muster:pools"][0], GOOD["muster:pools"][1] | {"provisioning": "spot"}]},
        "muster:cluster.version",
        '"1.31"',
        "1.32 or later, the first version with the beta of dynamic resource allocation (Kubernetes)",
        "raise it, or remove `dynamicResourceAllocation`",
    ),
    Case(
        "a minimum above the maximum",
        limits("memory", min=300, max=208),
        "muster:cluster.nodeAutoProvisioning.memory.min",
        "300",
        "at most max, which is 208",
        "lower `min` or raise `max`",
    ),
    Case(
        "fewer CPUs than the pools have",
        limits("cpu", max=51),
        "muster:cluster.nodeAutoProvisioning.cpu.max",
        "51",
        "at least 52, the most that this stack's pools may have: the limit includes them (GKE, node "
        "auto-provisioning)",
        "raise it, or lower the pools' nodes.max",
    ),
    Case(
        "fewer GPUs than the pools have",
        with_cluster(nodeAutoProvisioning={**LIMITS, "accelerators": {"nvidia-l4": {"max": 9}}}),
        "muster:cluster.nodeAutoProvisioning.accelerators.nvidia-l4.max",
        "9",
        "at least 10, the most that this stack's pools may have: the limit includes them (GKE, node "
        "auto-provisioning)",
        "raise it, or lower the pools' nodes.max",
    ),
    Case(
        "no limit of memory",
        with_cluster(nodeAutoProvisioning={"cpu": {"max": 52}}),
        "muster:cluster.nodeAutoProvisioning.memory",
        "nothing",
        "a value: this key is required",
        "add `memory`",
    ),
    Case(
        "a key without its full name",
        with_cluster(secretsEncryption="etcd"),
        "muster:cluster.secretsEncryption",
        '"etcd"',
        "the full name of a Cloud KMS key",
        "write projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY",
    ),
    Case(
        "a group that GKE does not use",
        with_cluster(securityGroup="ml@acme.example"),
        "muster:cluster.securityGroup",
        '"ml@acme.example"',
        "the group that contains the groups used in RBAC, whose name GKE prescribes (GKE, Google "
        "Groups for RBAC)",
        "write gke-security-groups@ followed by your domain",
    ),
    Case(
        "a team's Google group without the security group",
        put("muster:tenants", 0, "group", "team-a@acme.example"),
        "muster:cluster.securityGroup",
        "nothing",
        "gke-security-groups@DOMAIN, the group that contains team-a@acme.example: without it GKE "
        "ignores Google groups, and tenants' groups have no access (GKE, Google Groups for RBAC)",
        "add it, or remove `group` from the tenants",
    ),
    Case(
        "an existing cluster whose name GKE would refuse",
        {**GOOD, "muster:cluster": {**IN_GKE, "name": "1-ray"}},
        "muster:cluster.name",
        '"1-ray"',
        "its name in GKE: 1 to 40 of a-z, 0-9 and '-', from a letter on (GKE API: Cluster.name)",
        "copy it from `gcloud container clusters list`",
    ),
    Case(
        "a topic without its full name",
        with_cluster(notifications="gke"),
        "muster:cluster.notifications",
        '"gke"',
        "the full name of a Pub/Sub topic",
        "write projects/PROJECT/topics/TOPIC",
    ),
    Case(
        "an unknown driver",
        with_cluster(csiDrivers=["nfs"]),
        "muster:cluster.csiDrivers[0]",
        '"nfs"',
        "one of persistent-disk, gcs-fuse, filestore, lustre",
        "choose one of persistent-disk, gcs-fuse, filestore, lustre",
    ),
]


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_stack_that_breaks_a_cluster_rule_is_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


KEPT: dict[str, dict[str, Any]] = {
    "nodes in two zones of the region": with_cluster(location="us-west1", zones=["us-west1-a", "us-west1-b"]),
    "a zonal cluster with nodes in another zone": with_cluster(zones=["us-west1-a"]),
    "a public endpoint for the office": with_cluster(publicEndpoint=True, authorizedNetworks=OFFICE),
    "a private endpoint for a network": with_cluster(dnsEndpoint=False, authorizedNetworks=OFFICE),
    "a key in the region of a zonal cluster": with_cluster(secretsEncryption=KEY.format("us-west1")),
    "resource claims by beta APIs": with_cluster(
        dynamicResourceAllocation=True, version="1.32.2-gke.1652000"
    ),
    "limits that include the pools": with_cluster(nodeAutoProvisioning=LIMITS),
    "a group of groups": with_cluster(securityGroup="gke-security-groups@acme.example"),
    "a team's Google group in the group of groups": with_cluster(
        securityGroup="gke-security-groups@acme.example"
    )
    | {"muster:tenants": [{**GOOD["muster:tenants"][0], "group": "team-a@acme.example"}]},
    "a topic": with_cluster(notifications="projects/acme-ml/topics/gke"),
}


@pytest.mark.parametrize("config", KEPT.values(), ids=KEPT.keys())
def test_stack_that_keeps_a_cluster_rule_is_accepted(config: dict[str, Any]) -> None:
    assert isinstance(parse(config, FILE).cluster, Gke)


@pytest.mark.parametrize(
    ("version", "serves"), [("1.35", False), ("1.36.0-gke.1", True), ("1.36", True), ("1.37", True)]
)
def test_mutating_policies_are_served_from_1_36_on(version: str, serves: bool) -> None:
    assert parse(with_cluster(version=version), FILE).cluster.serves_mutating_policies is serves


@pytest.mark.parametrize("serves", [True, False])
def test_existing_cluster_declares_whether_it_serves_mutating_policies(serves: bool) -> None:
    cluster = parse({**GOOD, "muster:cluster": EXISTING | {"servesMutatingPolicies": serves}}, FILE).cluster

    assert isinstance(cluster, Existing)
    assert cluster.serves_mutating_policies is serves


@pytest.mark.parametrize(("version", "apis"), [("1.33", 4), ("1.34", 0)])
def test_claims_need_beta_apis_before_1_34(version: str, apis: int) -> None:
    cluster = parse(with_cluster(version=version, dynamicResourceAllocation=True), FILE).cluster

    assert isinstance(cluster, Gke)
    assert len(cluster.beta_apis) == apis
