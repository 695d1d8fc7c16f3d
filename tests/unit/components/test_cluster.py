"""The cluster: its inputs and resource options."""

import json
from pathlib import Path
from typing import Any
from unittest import mock

import pulumi
import pytest

from components.foundation.control_plane import NO_ADDRESS, connection, required_address
from components.platform import Platform, PlatformArgs
from settings.load import load
from tests.unit.components.harness import declare, declare_platform
from tests.unit.settings.builders import EXISTING, GOOD, put

DEV = Path(__file__).parents[3] / "stacks" / "Pulumi.dev.yaml"
NODES = "ray-nodes-2ceadf@acme-ml.iam.gserviceaccount.com"
SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
KEY = "projects/acme-ml/locations/us-west1/keyRings/ray/cryptoKeys/etcd"
NO_READONLY_PORT = {"insecureKubeletReadonlyPortEnabled": "FALSE"}

SECURE_ZONAL: dict[str, Any] = {
    "addonsConfig": {
        "gcePersistentDiskCsiDriverConfig": {"enabled": True},
        "gcpFilestoreCsiDriverConfig": {"enabled": False},
        "gcsFuseCsiDriverConfig": {"enabled": True},
        "lustreCsiDriverConfig": {"enabled": False},
    },
    "binaryAuthorization": {"evaluationMode": "PROJECT_SINGLETON_POLICY_ENFORCE"},
    "clusterAutoscaling": {"enabled": False},
    "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"allowExternalTraffic": True}},
    "costManagementConfig": {"enabled": True},
    "databaseEncryption": {"state": "DECRYPTED"},
    "datapathProvider": "ADVANCED_DATAPATH",
    "deletionProtection": True,
    "enableIntranodeVisibility": True,
    "enableLegacyAbac": False,
    "enableMultiNetworking": False,
    "enableShieldedNodes": True,
    "gatewayApiConfig": {"channel": "CHANNEL_STANDARD"},
    "initialNodeCount": 1,
    "ipAllocationPolicy": {},
    "location": "us-west1-b",
    "loggingConfig": {"enableComponents": ["SYSTEM_COMPONENTS", "WORKLOADS"]},
    "masterAuth": {"clientCertificateConfig": {"issueClientCertificate": False}},
    "masterAuthorizedNetworksConfig": {
        "cidrBlocks": [],
        "gcpPublicCidrsAccessEnabled": False,
        "privateEndpointEnforcementEnabled": True,
    },
    "minMasterVersion": "1.36",
    "monitoringConfig": {
        "enableComponents": [
            "SYSTEM_COMPONENTS",
            "DCGM",
            "POD",
            "DEPLOYMENT",
            "STORAGE",
            "CADVISOR",
            "KUBELET",
        ],
        "managedPrometheus": {"enabled": True},
    },
    "name": "ray",
    "network": "default",
    "networkingMode": "VPC_NATIVE",
    "nodeConfig": {"oauthScopes": SCOPES, "serviceAccount": NODES},
    "nodePoolAutoConfig": {"nodeKubeletConfig": NO_READONLY_PORT},
    "nodePoolDefaults": {"nodeConfigDefaults": NO_READONLY_PORT},
    "privateClusterConfig": {"enablePrivateEndpoint": True, "enablePrivateNodes": True},
    "project": "acme-ml",
    "rbacBindingConfig": {
        "enableInsecureBindingSystemAuthenticated": False,
        "enableInsecureBindingSystemUnauthenticated": False,
    },
    "releaseChannel": {"channel": "REGULAR"},
    "removeDefaultNodePool": True,
    "resourceLabels": {},
    "securityPostureConfig": {"mode": "BASIC"},
    "subnetwork": "default",
    "verticalPodAutoscaling": {"enabled": True},
    "workloadIdentityConfig": {"workloadPool": "acme-ml.svc.id.goog"},
}


def with_cluster(**keys: object) -> dict[str, Any]:
    return {**GOOD, "muster:cluster": GOOD["muster:cluster"] | keys}


def test_defaults_are_secure() -> None:
    assert declare_platform(GOOD).inputs("Cluster/ray") == SECURE_ZONAL


def test_stack_dev_declares_the_cluster_of_kuberays_guide() -> None:
    settings = load(DEV)
    declared = declare(lambda: Platform("muster", PlatformArgs(settings)))
    cluster = declared.inputs("Cluster/kuberay-gpu-cluster")

    assert (cluster["name"], cluster["location"]) == ("kuberay-gpu-cluster", "us-west1-b")
    assert (cluster["network"], cluster["subnetwork"]) == ("default", "default")
    assert "nodeLocations" not in cluster
    assert not declared.kinds("Network", "Subnetwork", "Router", "RouterNat")


def limit(resource: str, least: int, most: int) -> dict[str, object]:
    return {"resourceType": resource, "minimum": least, "maximum": most}


WEEKEND = {"window": {"start": "22:30", "hours": 6, "days": ["SU", "SA"]}}
NIGHTLY = {"window": {"start": "02:00", "hours": 4}}
FREEZES = [
    {"name": "launch", "start": "2026-11-20T00:00:00Z", "end": "2026-12-01T00:00:00Z"},
    {"name": "minor", "start": "2026-01-01T00:00:00Z", "scope": "no-minor-or-node-upgrades"},
]
PROVISIONED = {
    "cpu": {"min": 4, "max": 100},
    "memory": {"max": 400},
    "accelerators": {"nvidia-l4": {"max": 16}},
}

LOGS = ["SYSTEM_COMPONENTS", "CONTROLLER_MANAGER", "KCP_CONNECTION", "KCP_SSHD"]
ADDONS = SECURE_ZONAL["addonsConfig"]
# Name of the case -> keys of the cluster, and the inputs that differ from those of SECURE_ZONAL.
CHANGED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "regional, in two zones": (
        {"location": "us-west1", "zones": ["us-west1-a", "us-west1-b"]},
        {
            "location": "us-west1",
            "nodeLocations": ["us-west1-a", "us-west1-b"],
            # The account's name has a hash of the location.
            "nodeConfig": {
                "oauthScopes": SCOPES,
                "serviceAccount": "ray-nodes-6a20e8@acme-ml.iam.gserviceaccount.com",
            },
        },
    ),
    "an upgrade policy": (
        {"channel": "stable", "version": "1.35", "maintenance": NIGHTLY},
        {
            "releaseChannel": {"channel": "STABLE"},
            "minMasterVersion": "1.35",
            "maintenancePolicy": {
                "recurringWindow": {
                    "startTime": "2024-01-01T02:00:00Z",
                    "endTime": "2024-01-01T06:00:00Z",
                    "recurrence": "FREQ=DAILY",
                }
            },
        },
    ),
    "a window on two days, with exclusions": (
        {"maintenance": WEEKEND | {"exclusions": FREEZES}},
        {
            "maintenancePolicy": {
                # The first of the days, a Saturday, until the next day.
                "recurringWindow": {
                    "startTime": "2024-01-06T22:30:00Z",
                    "endTime": "2024-01-07T04:30:00Z",
                    "recurrence": "FREQ=WEEKLY;BYDAY=SA,SU",
                },
                "maintenanceExclusions": [
                    {
                        "exclusionName": "launch",
                        "startTime": "2026-11-20T00:00:00Z",
                        "endTime": "2026-12-01T00:00:00Z",
                        "exclusionOptions": {"scope": "NO_UPGRADES"},
                    },
                    {
                        "exclusionName": "minor",
                        "startTime": "2026-01-01T00:00:00Z",
                        "exclusionOptions": {
                            "scope": "NO_MINOR_OR_NODE_UPGRADES",
                            "endTimeBehavior": "UNTIL_END_OF_SUPPORT",
                        },
                    },
                ],
            }
        },
    ),
    "a network that exists": (
        {"network": "shared", "subnetwork": "ray"},
        {"network": "shared", "subnetwork": "ray"},
    ),
    "ranges that exist": (
        {
            "network": "shared",
            "subnetwork": "ray",
            "podsRange": "ray-pods",
            "servicesRange": "ray-services",
            "additionalPodsRanges": ["more-pods"],
        },
        {
            "network": "shared",
            "subnetwork": "ray",
            "ipAllocationPolicy": {
                "clusterSecondaryRangeName": "ray-pods",
                "servicesSecondaryRangeName": "ray-services",
                "additionalPodRangesConfig": {"podRangeNames": ["more-pods"]},
            },
        },
    ),
    "public, for the office": (
        {
            "privateNodes": False,
            "dnsEndpoint": False,
            "publicEndpoint": True,
            "authorizedNetworks": {"office": "203.0.113.0/24"},
        },
        {
            "privateClusterConfig": {"enablePrivateEndpoint": False, "enablePrivateNodes": False},
            "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"allowExternalTraffic": False}},
            "masterAuthorizedNetworksConfig": {
                "cidrBlocks": [{"displayName": "office", "cidrBlock": "203.0.113.0/24"}],
                "gcpPublicCidrsAccessEnabled": False,
                "privateEndpointEnforcementEnabled": True,
            },
        },
    ),
    "keys and groups": (
        {"secretsEncryption": KEY, "securityGroup": "gke-security-groups@acme.example"},
        {
            "databaseEncryption": {"state": "ENCRYPTED", "keyName": KEY},
            "authenticatorGroupsConfig": {"securityGroup": "gke-security-groups@acme.example"},
        },
    ),
    "optional features off": (
        {
            "binaryAuthorization": False,
            "securityPosture": False,
            "intranodeVisibility": False,
            "costManagement": False,
            "managedPrometheus": False,
            "gatewayApi": False,
            "verticalPodAutoscaling": False,
            "logs": [],
            "metrics": [],
        },
        {
            "binaryAuthorization": {"evaluationMode": "DISABLED"},
            "securityPostureConfig": {"mode": "DISABLED"},
            "enableIntranodeVisibility": False,
            "costManagementConfig": {"enabled": False},
            "monitoringConfig": {
                "enableComponents": ["SYSTEM_COMPONENTS"],
                "managedPrometheus": {"enabled": False},
            },
            "gatewayApiConfig": {"channel": "CHANNEL_DISABLED"},
            "verticalPodAutoscaling": {"enabled": False},
            "loggingConfig": {"enableComponents": ["SYSTEM_COMPONENTS"]},
        },
    ),
    "optional features on": (
        {
            "csiDrivers": ["filestore", "lustre"],
            "logs": ["controller-manager", "kcp-connection", "kcp-sshd"],
            "fleet": "acme-fleet",
            "notifications": "projects/acme-ml/topics/gke",
        },
        {
            "addonsConfig": {
                "gcePersistentDiskCsiDriverConfig": {"enabled": False},
                "gcpFilestoreCsiDriverConfig": {"enabled": True},
                "gcsFuseCsiDriverConfig": {"enabled": False},
                "lustreCsiDriverConfig": {"enabled": True},
            },
            "loggingConfig": {"enableComponents": LOGS},
            "fleet": {"project": "acme-fleet"},
            "notificationConfig": {"pubsub": {"enabled": True, "topic": "projects/acme-ml/topics/gke"}},
        },
    ),
    "limited anonymous authentication": (
        {"anonymousAuthentication": "limited"},
        {"anonymousAuthenticationConfig": {"mode": "LIMITED"}},
    ),
    "an autoscaler that fills nodes": (
        {"autoscalingProfile": "optimize-utilization"},
        {"clusterAutoscaling": {"enabled": False, "autoscalingProfile": "OPTIMIZE_UTILIZATION"}},
    ),
    "the Secret Manager add-on": (
        {"secretManager": {}},
        {"secretManagerConfig": {"enabled": True}},
    ),
    "secrets that are mounted again when they change": (
        {"secretManager": {"rotationSeconds": 300}},
        {
            "secretManagerConfig": {
                "enabled": True,
                "rotationConfig": {"enabled": True, "rotationInterval": "300s"},
            }
        },
    ),
    "the slice controller": (
        {"sliceController": True, "channel": "rapid"},
        {
            "addonsConfig": {**ADDONS, "sliceControllerConfig": {"enabled": True}},
            "releaseChannel": {"channel": "RAPID"},
        },
    ),
    "DNS of Cloud DNS in the cluster, without a cache": (
        {"dns": {"provider": "cloud-dns", "additiveVpcDomain": "ray.internal", "nodeCache": False}},
        {
            "addonsConfig": {**ADDONS, "dnsCacheConfig": {"enabled": False}},
            "dnsConfig": {
                "clusterDns": "CLOUD_DNS",
                "clusterDnsScope": "CLUSTER_SCOPE",
                "additiveVpcScopeDnsDomain": "ray.internal",
            },
        },
    ),
    "DNS of Cloud DNS in the VPC": (
        {"dns": {"provider": "cloud-dns", "scope": "vpc", "domain": "ray.internal"}},
        {
            "dnsConfig": {
                "clusterDns": "CLOUD_DNS",
                "clusterDnsScope": "VPC_SCOPE",
                "clusterDnsDomain": "ray.internal",
            }
        },
    ),
    "DNS of kube-dns with a cache": (
        {"dns": {"provider": "kube-dns", "nodeCache": True}},
        {
            "addonsConfig": {**ADDONS, "dnsCacheConfig": {"enabled": True}},
            "dnsConfig": {"clusterDns": "KUBE_DNS"},
        },
    ),
    "a cache in front of GKE's DNS": (
        {"dns": {"nodeCache": True}},
        {"addonsConfig": {**ADDONS, "dnsCacheConfig": {"enabled": True}}},
    ),
    "resource claims before 1.34": (
        {"version": "1.33", "dynamicResourceAllocation": True},
        {
            "minMasterVersion": "1.33",
            "enableK8sBetaApis": {
                "enabledApis": [
                    "resource.k8s.io/v1beta1/deviceclasses",
                    "resource.k8s.io/v1beta1/resourceclaims",
                    "resource.k8s.io/v1beta1/resourceclaimtemplates",
                    "resource.k8s.io/v1beta1/resourceslices",
                ]
            },
        },
    ),
    "node auto-provisioning": (
        {"nodeAutoProvisioning": PROVISIONED},
        {
            "clusterAutoscaling": {
                "enabled": True,
                "resourceLimits": [
                    limit("cpu", 4, 100),
                    limit("memory", 0, 400),
                    limit("nvidia-l4", 0, 16),
                ],
                "autoProvisioningDefaults": {
                    "serviceAccount": NODES,
                    "oauthScopes": SCOPES,
                    "management": {"autoRepair": True, "autoUpgrade": True},
                    "shieldedInstanceConfig": {"enableSecureBoot": True, "enableIntegrityMonitoring": True},
                },
            }
        },
    ),
}


@pytest.mark.parametrize(("keys", "changed"), CHANGED.values(), ids=CHANGED.keys())
def test_settings_change_their_inputs_only(keys: dict[str, Any], changed: dict[str, Any]) -> None:
    assert declare_platform(with_cluster(**keys)).inputs("Cluster/ray") == SECURE_ZONAL | changed


def test_without_dataplane_v2_the_legacy_datapath_is_used() -> None:
    declared = declare_platform(with_cluster(dataplaneV2=False) | {"muster:tenants": []})

    assert declared.inputs("Cluster/ray") == SECURE_ZONAL | {"datapathProvider": "LEGACY_DATAPATH"}


def test_fields_that_gke_changes_are_ignored() -> None:
    cluster = declare_platform(GOOD)["Cluster/ray"]

    assert cluster.ignore_changes == ("initialNodeCount", "nodeConfig", "nodePools", "nodeVersion")
    assert (cluster.aliases, cluster.replace_on_changes, cluster.delete_before_replace) == ((), (), False)


@pytest.mark.parametrize("protected", [True, False])
def test_deletion_protection_reaches_cluster_and_namespaces(protected: bool) -> None:
    declared = declare_platform(put("muster:cluster", "deletionProtection", protected))

    assert declared["Cluster/ray"].protect is protected
    assert declared.inputs("Cluster/ray")["deletionProtection"] is protected
    assert declared["Namespace/team-a"].protect is protected


def test_the_ray_add_on_replaces_the_kuberay_release() -> None:
    declared = declare_platform(put("muster:kuberay", {"install": "addon", "addon": {"logging": False}}))

    assert declared.inputs("Cluster/ray")["addonsConfig"]["rayOperatorConfigs"] == [
        {
            "enabled": True,
            "rayClusterLoggingConfig": {"enabled": False},
            "rayClusterMonitoringConfig": {"enabled": True},
        }
    ]
    assert not declared.kinds("Release")


@pytest.mark.parametrize(
    ("name", "account"), [("ray", "ray-nodes-2ceadf"), ("r" * 40, "rrrrrrrrrrrrrrrrr-nodes-c6ac15")]
)
def test_nodes_run_as_a_service_account_with_two_roles(name: str, account: str) -> None:
    declared = declare_platform(with_cluster(name=name))
    grants = [declared.inputs(grant) for grant in declared.kinds("IAMMember") if "/nodes-" in grant]

    assert declared.inputs("Account/nodes")["accountId"] == account
    assert {grant["member"] for grant in grants} == {
        f"serviceAccount:{account}@acme-ml.iam.gserviceaccount.com"
    }
    assert {grant["role"] for grant in grants} == {
        "roles/container.defaultNodeServiceAccount",
        "roles/artifactregistry.reader",
    }
    assert declared[f"Cluster/{name}"].depends_on >= set(declared.kinds("IAMMember"))


def test_gke_may_use_the_key_before_it_creates_the_cluster() -> None:
    declared = declare_platform(with_cluster(secretsEncryption=KEY))

    assert declared.inputs("CryptoKeyIAMMember/secrets-encryption") == {
        "cryptoKeyId": KEY,
        "role": "roles/cloudkms.cryptoKeyEncrypterDecrypter",
        "member": "serviceAccount:service-1@container-engine-robot.iam.gserviceaccount.com",
    }
    assert "CryptoKeyIAMMember/secrets-encryption" in declared["Cluster/ray"].depends_on


def test_access_to_another_projects_key_is_not_granted() -> None:
    declared = declare_platform(with_cluster(secretsEncryption=KEY.replace("acme-ml", "acme-keys")))

    assert not declared.kinds("CryptoKeyIAMMember", "ServiceIdentity")


# Name of the case -> keys of the cluster, and the endpoint in the kubeconfig.
ADDRESSES: dict[str, tuple[dict[str, object], dict[str, str]]] = {
    "by name, from anywhere": ({}, {"server": "https://gke-ray.us-west1-b.gke.goog"}),
    "by IP address, from authorized networks": (
        {"dnsEndpoint": False, "authorizedNetworks": {"vpn": "10.200.0.0/16"}},
        {"server": "https://203.0.113.7", "certificate-authority-data": "Y2E="},
    ),
}


@pytest.mark.parametrize(("keys", "address"), ADDRESSES.values(), ids=ADDRESSES.keys())
def test_the_provider_reaches_the_cluster_without_credentials(
    keys: dict[str, object], address: dict[str, str]
) -> None:
    provider = declare_platform(with_cluster(**keys))["kubernetes/kubernetes"]
    kubeconfig = json.loads(provider.inputs["kubeconfig"])

    assert provider.inputs["clusterIdentifier"] == "ray-id"
    assert kubeconfig["clusters"][0]["cluster"] == address
    assert kubeconfig["users"][0]["user"]["exec"]["command"] == "gke-gcloud-auth-plugin"


@pytest.mark.parametrize("context", [None, "kind-ray"])
def test_an_existing_cluster_gets_a_provider_only(context: str | None) -> None:
    cluster = EXISTING | ({"context": context} if context else {})
    declared = declare_platform({**GOOD, "muster:cluster": cluster})

    assert not [name for name, resource in declared.items() if resource.type.startswith("gcp:")]
    inputs = {"enablePatchForce": "true"} | ({"context": context} if context else {})
    assert declared.inputs("kubernetes/kubernetes") == inputs


@pytest.mark.parametrize(
    ("dns_endpoint", "output"),
    [(True, "controlPlaneEndpointsConfig.dnsEndpointConfig.endpoint"), (False, "endpoint")],
)
def test_mocks_without_outputs_are_told_which_one_is_missing(dns_endpoint: bool, output: str) -> None:
    nothing = mock.Mock(apply=lambda convert: convert(None))
    dns = mock.Mock(dns_endpoint_config=mock.Mock(endpoint=nothing))
    cluster = mock.Mock(endpoint=nothing, control_plane_endpoints_config=dns)

    with pytest.raises(pulumi.RunError, match=f"no output `{output}`.*let the mocks return one"):
        connection(cluster, dns_endpoint)


@pytest.mark.parametrize("address", [None, ""])
def test_an_address_is_required_for_a_deployment_but_not_for_a_preview(
    address: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    warned: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", warned.append)
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: True)
    assert required_address(address, "deploy it first") == NO_ADDRESS
    assert warned == ["deploy it first"]
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: False)
    with pytest.raises(pulumi.RunError, match="deploy it first"):
        required_address(address, "deploy it first")
    assert required_address("10.0.0.2", "deploy it first") == "10.0.0.2"
