"""Stacks with invalid tenants, each with its error message."""

from typing import Any

import pytest

from settings.load import SettingsError, parse
from settings.model.operators.namespaces import OPERATORS
from tests.unit.settings.builders import EXISTING, FILE, GOOD, Case, put, tenant

CHECKPOINTS = {"bucket": "acme-ml-checkpoints"}
SERVING = {"hosts": {"models.example.com": "vllm"}, "iap": {"members": ["group:ml@example.com"]}}
OWN_MAP = {**SERVING, "certificateMap": "certificates"}
HF_TOKEN = {"name": "hf-token"}
SECRET = (
    "the ID of a secret, 1 to 255 of A-Z, a-z, 0-9, '_' and '-', or its path (Secret Manager API: "
    "Secret.name)"
)
WRITE_SECRET = (
    "write ID, or projects/PROJECT/secrets/ID or projects/PROJECT/locations/REGION/secrets/ID, without a "
    "version, and never its value; `gcloud secrets list` prints it"
)
ADD_ON: dict[str, Any] = {"secretManager": {}}
TEAM_B = {"namespace": "team-b", "queues": {"user-queue": "team-a"}}


def two(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    team_a = {**GOOD["muster:tenants"][0], **first}
    return put("muster:tenants", [team_a, {**TEAM_B, **second}])


def on(cluster: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """Returns the stack with these keys added to its cluster."""
    return {**config, "muster:cluster": {**config["muster:cluster"], **cluster}}


HERE = "muster:tenants[0]"
OWN = (
    "a namespace for the team: not default, gpu-operator, jobset-system, kai-scheduler, kuberay-system, "
    "kueue-system, lws-system, muster-system, nor one of the system (kube-*, gke-*, gmp-*)"
)
NOT_ON_GKE = "no value: it needs Google Cloud, and this cluster is not known to be there"

CASES = [
    Case(
        "two bounds of storage",
        tenant(storage="1Gi", resourceQuota={"requests.storage": "2Gi"}),
        'muster:tenants[0].resourceQuota["requests.storage"]',
        '"2Gi"',
        "no value: `storage` is the bound, and lets the team create claims",
        "remove one of them",
    ),
    Case(
        "a local queue of an unknown cluster queue",
        put("muster:tenants", 0, "queues", "user-queue", "team-b"),
        "muster:tenants[0].queues.user-queue",
        '"team-b"',
        "the name of a cluster queue in this file",
        "did you mean team-a?",
    ),
    Case(
        "a tenant in a namespace of the system",
        put("muster:tenants", 0, "namespace", "kube-system"),
        "muster:tenants[0].namespace",
        '"kube-system"',
        OWN,
        "choose another name",
    ),
    *(
        Case(
            f"a tenant in the namespace {name}",
            put("muster:tenants", 0, "namespace", name),
            "muster:tenants[0].namespace",
            f'"{name}"',
            OWN,
            "choose another name",
        )
        for name in (*OPERATORS, "gmp-public", "default")
    ),
    Case(
        "a priority that the stack does not have",
        tenant(priorities=["dev-priority", "prod"]),
        "muster:tenants[0].priorities[1]",
        '"prod"',
        "the name of a priority in muster:admission.priorities",
        "choose one of prod-priority, dev-priority",
    ),
    # On an existing cluster
    Case(
        "an identity on an existing cluster",
        {**tenant(identity={}), "muster:cluster": EXISTING},
        f"{HERE}.identity",
        "{}",
        NOT_ON_GKE,
        "remove `identity`, or say in muster:cluster.gke where the cluster is",
    ),
    Case(
        "a Gateway on an existing cluster",
        {**tenant(serving=SERVING), "muster:cluster": EXISTING},
        f"{HERE}.serving",
        '{"hosts": {"models.example.com": "vllm"}, "iap": {"members": ["group:ml@example.com"]}}',
        NOT_ON_GKE,
        "remove `serving`, or say in muster:cluster.gke where the cluster is",
    ),
    # Requirements on the cluster
    Case(
        "secrets without the add-on",
        tenant(identity={}, secrets=[HF_TOKEN]),
        f"{HERE}.secrets",
        '[{"name": "hf-token"}]',
        "no value: the cluster's secretManager is unset, so nothing mounts secrets",
        "write muster:cluster.secretManager: {}, or remove `secrets`",
    ),
    Case(
        "secrets without an identity",
        on(ADD_ON, tenant(secrets=[HF_TOKEN])),
        f"{HERE}.identity",
        "nothing",
        "an identity, with which pods read `secrets`",
        "add `identity: {}`",
    ),
    Case(
        "two secrets in one file",
        on(ADD_ON, tenant(identity={}, secrets=[HF_TOKEN, {"name": "other", "file": "hf-token"}])),
        f"{HERE}.secrets[1]",
        '{"name": "other", "file": "hf-token"}',
        "a unique file of a secret",
        "hf-token is already in use; choose another name",
    ),
    Case(
        "the path of a secret's version",
        on(ADD_ON, tenant(identity={}, secrets=[{"name": "projects/acme-ml/secrets/hf-token/versions/1"}])),
        f"{HERE}.secrets[0].name",
        '"projects/acme-ml/secrets/hf-token/versions/1"',
        SECRET,
        WRITE_SECRET,
    ),
    Case(
        "a secret's ID that is too long",
        on(ADD_ON, tenant(identity={}, secrets=[{"name": "a" * 256}])),
        f"{HERE}.secrets[0].name",
        f'"{"a" * 256}"',
        SECRET,
        WRITE_SECRET,
    ),
    Case(
        "a secret's file outside of its volume",
        on(ADD_ON, tenant(identity={}, secrets=[{**HF_TOKEN, "file": ".."}])),
        f"{HERE}.secrets[0].file",
        '".."',
        "a file name: 1 to 255 of A-Z, a-z, 0-9, '.', '_' and '-'",
        "write it without a folder, such as hf-token",
    ),
    Case(
        "version zero of a secret",
        on(ADD_ON, tenant(identity={}, secrets=[{**HF_TOKEN, "version": 0}])),
        f"{HERE}.secrets[0].version",
        "0",
        "1 or more",
        "raise it",
    ),
    Case(
        "a bucket without the CSI driver",
        on({"csiDrivers": ["persistent-disk"]}, tenant(identity={}, checkpoints=CHECKPOINTS)),
        f"{HERE}.checkpoints",
        '{"bucket": "acme-ml-checkpoints"}',
        "no value: the cluster's csiDrivers do not include gcs-fuse, which mounts buckets",
        "add gcs-fuse to muster:cluster.csiDrivers, or remove `checkpoints`",
    ),
    Case(
        "a Gateway without a controller",
        on({"gatewayApi": False}, tenant(serving=SERVING)),
        f"{HERE}.serving",
        '{"hosts": {"models.example.com": "vllm"}, "iap": {"members": ["group:ml@example.com"]}}',
        "no value: the cluster's gatewayApi is off, so the Gateway would get no load balancer",
        "write muster:cluster.gatewayApi: true, or remove `serving`",
    ),
    Case(
        "device claims on a version without the API",
        on({"version": "1.33"}, tenant(deviceClaims={"gpu": {"deviceClass": "gpu.nvidia.com"}})),
        f"{HERE}.deviceClaims",
        '{"gpu": {"deviceClass": "gpu.nvidia.com"}}',
        "no value: ResourceClaimTemplate v1 requires Kubernetes 1.34",
        'raise muster:cluster.version to "1.34" or later, or remove `deviceClaims`',
    ),
    Case(
        "network policies without enforcement",
        on({"dataplaneV2": False}, tenant(network={"isolated": True})),
        f"{HERE}.network.isolated",
        "true",
        "false: without dataplaneV2 the cluster does not enforce NetworkPolicies (GKE, network policy)",
        "write muster:cluster.dataplaneV2: true, or isolated: false",
    ),
    Case(
        "tokens with a KubeRay that does not create them",
        {**tenant(rayAuth="token"), "muster:kuberay": {"version": "1.5.0"}},
        f"{HERE}.rayAuth",
        '"token"',
        "no value: KubeRay 1.5.0 does not support authOptions",
        "raise muster:kuberay.version to 1.5.1 or later, or remove `rayAuth`",
    ),
    # Keys that require other keys
    Case(
        "a bucket without an identity",
        tenant(checkpoints=CHECKPOINTS),
        f"{HERE}.identity",
        "nothing",
        "an identity, with which pods access the bucket of `checkpoints`",
        "add `identity: {}`",
    ),
    Case(
        "a bucket without egress",
        tenant(identity={}, checkpoints=CHECKPOINTS, network={"egress": "none"}),
        f"{HERE}.network.egress",
        '"none"',
        "https or google-apis: pods reach the bucket of `checkpoints` through Google APIs",
        "write google-apis",
    ),
    # Unique names
    Case(
        "two tenants with one bucket",
        two({"identity": {}, "checkpoints": CHECKPOINTS}, {"identity": {}, "checkpoints": CHECKPOINTS}),
        "muster:tenants[1].checkpoints.bucket",
        '"acme-ml-checkpoints"',
        "a unique bucket",
        "acme-ml-checkpoints is already in use; choose another name",
    ),
    Case(
        "two tenants with one Google service account",
        two({"identity": {"account": "trainer"}}, {"identity": {"account": "trainer"}}),
        "muster:tenants[1].identity.account",
        '"trainer"',
        "a unique Google service account",
        "trainer is already in use; choose another name",
    ),
    Case(
        "two tenants behind one host",
        two({"serving": SERVING}, {"serving": SERVING}),
        'muster:tenants[1].serving.hosts["models.example.com"]',
        '"vllm"',
        "a unique host",
        "models.example.com is already in use; choose another name",
    ),
    # Bounds
    Case(
        "a request above the limit",
        tenant(limits={"default": {"cpu": 1}, "defaultRequest": {"cpu": "1500m"}}),
        f"{HERE}.limits.defaultRequest.cpu",
        '"1500m"',
        "at most `default`, which is 1",
        "lower `defaultRequest` or raise `default`",
    ),
    Case(
        "a minimum above the maximum",
        tenant(limits={"min": {"memory": "2Gi"}, "max": {"memory": "1Gi"}}),
        f"{HERE}.limits.min.memory",
        '"2Gi"',
        "at most `max`, which is 1Gi",
        "lower `min` or raise `max`",
    ),
    Case(
        "a ResourceQuota that splits gangs",
        tenant(resourceQuota={"requests.nvidia.com/gpu": 3}),
        f'{HERE}.resourceQuota["requests.nvidia.com/gpu"]',
        "3",
        "at least the nominal quota of its queues, 4: otherwise a gang that they admit may start only"
        " partially",
        "raise it, or lower the queues' quotas",
    ),
    Case(
        "a ResourceQuota that splits gangs of several flavors",
        tenant(resourceQuota={"cpu": 23}),
        f"{HERE}.resourceQuota.cpu",
        "23",
        "at least the nominal quota of its queues, 8 + 16: otherwise a gang that they admit may start"
        " only partially",
        "raise it, or lower the queues' quotas",
    ),
    # Values
    Case(
        "a limit on an extended resource",
        tenant(resourceQuota={"nvidia.com/gpu": 4}),
        f'{HERE}.resourceQuota["nvidia.com/gpu"]',
        '"nvidia.com/gpu"',
        "requests.…: quotas of extended resources are on requests only (Kubernetes)",
        "write requests.nvidia.com/gpu",
    ),
    Case(
        "a ResourceQuota of nothing known",
        tenant(resourceQuota={"gpus": 4}),
        f"{HERE}.resourceQuota.gpus",
        '"gpus"',
        "a key of a ResourceQuota: configmaps, cpu, ephemeral-storage, memory, "
        "persistentvolumeclaims, pods, secrets, services, services.loadbalancers, services.nodeports,"
        " requests.…, limits.… or count/…",
        "write, for example, requests.nvidia.com/gpu or count/rayjobs.ray.io",
    ),
    Case(
        "a group of all users",
        tenant(group="system:authenticated"),
        f"{HERE}.group",
        '"system:authenticated"',
        "a team's group of your identity provider: neither one of Kubernetes' (system:…), nor "
        "gke-security-groups@…, which contains the groups of all teams",
        "write the team's group, such as team-a@example.com",
    ),
    Case(
        "an unknown level",
        tenant(podSecurity="strict"),
        f"{HERE}.podSecurity",
        '"strict"',
        "one of privileged, baseline, restricted",
        "did you mean restricted?",
    ),
    Case(
        "a service without authentication",
        tenant(serving={**SERVING, "iap": {"members": ["allUsers"]}}),
        f"{HERE}.serving.iap.members[0]",
        '"allUsers"',
        "an IAM member: user:…@…, group:…@…, serviceAccount:…@… or domain:…",
        "write, for example, group:team-a@example.com (allUsers is refused: it disables authentication)",
    ),
    Case(
        "a service without IAP",
        tenant(serving={"hosts": {"models.example.com": "vllm"}}),
        f"{HERE}.serving.iap",
        "nothing",
        "a value: this key is required",
        "add `iap`",
    ),
    Case(
        "a host without a domain",
        tenant(serving={**SERVING, "hosts": {"models": "vllm"}}),
        f"{HERE}.serving.hosts.models",
        '"models"',
        "a fully qualified host name, for which a certificate can be issued",
        "write it as in your DNS, such as models.example.com",
    ),
    Case(
        "a bucket name with google",
        tenant(identity={}, checkpoints={"bucket": "google-checkpoints"}),
        f"{HERE}.checkpoints.bucket",
        '"google-checkpoints"',
        "a bucket name: 3 to 63 of a-z, 0-9, '-' and '_', no '-' or '_' at either end, without google",
        "rename it; bucket names are unique in all of Cloud Storage",
    ),
    Case(
        "soft delete for too few days",
        tenant(identity={}, checkpoints={**CHECKPOINTS, "softDeleteDays": 3}),
        f"{HERE}.checkpoints.softDeleteDays",
        "3",
        "0 or 7 to 90 days (Cloud Storage, soft delete)",
        "write such a number; 0 disables soft delete",
    ),
    Case(
        "an invalid name of a Google service account",
        tenant(identity={"account": "ray"}),
        f"{HERE}.identity.account",
        '"ray"',
        "6 to 30 of a-z, 0-9 and '-', from a letter on, no '-' at the end (IAM: accountId)",
        "rename it",
    ),
    Case(
        "a certificate map by its full name",
        tenant(serving={**SERVING, "certificateMap": "projects/acme/certificates"}),
        f"{HERE}.serving.certificateMap",
        '"projects/acme/certificates"',
        "the name of a certificate map in the project",
        "write the bare name, such as my-certificates",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_invalid_tenants_are_refused(case: Case) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(case.config, FILE)

    assert str(refused.value) == case.message


def test_secrets_outside_of_google_cloud_are_refused() -> None:
    """Their identity is refused for the same reason."""
    with pytest.raises(SettingsError) as refused:
        parse({**tenant(identity={}, secrets=[HF_TOKEN]), "muster:cluster": EXISTING}, FILE)

    assert [problem.path for problem in refused.value.problems] == [f"{HERE}.identity", f"{HERE}.secrets"]
    assert {problem.expected for problem in refused.value.problems} == {NOT_ON_GKE}


# Each differs from an invalid case above in one key.
GOOD_TENANTS = {
    "a bucket with egress to Google APIs only": tenant(
        identity={}, checkpoints=CHECKPOINTS, network={"egress": "google-apis"}
    ),
    "a bucket without network policies": tenant(
        identity={}, checkpoints=CHECKPOINTS, network={"isolated": False}
    ),
    "a namespace longer than a Google service account's ID": put(
        "muster:tenants", 0, {**TEAM_B, "namespace": "foundation-models-and-many-more", "identity": {}}
    ),
    "a host longer than a certificate's name": tenant(
        serving={**SERVING, "hosts": {f"{'long-' * 11}name.example.com": "vllm"}}
    ),
    "claims on the first version that serves them": on(
        {"version": "1.34"}, tenant(deviceClaims={"gpu": {"deviceClass": "gpu.nvidia.com"}})
    ),
    "claims on a cluster of unknown version": {
        **tenant(deviceClaims={"gpu": {"deviceClass": "gpu.nvidia.com"}}),
        "muster:cluster": EXISTING,
    },
    "different buckets": two(
        {"identity": {}, "checkpoints": CHECKPOINTS}, {"identity": {}, "checkpoints": {"bucket": "others"}}
    ),
    "a ResourceQuota equal to the queues' quotas": tenant(
        resourceQuota={"requests.nvidia.com/gpu": 4, "cpu": 24}
    ),
    "a ResourceQuota of resources that queues do not count": tenant(
        resourceQuota={
            "count/rayclusters.ray.io": 10,
            "limits.memory": "1Ti",
            "requests.storage": "1Ti",
            "services.loadbalancers": 0,
            "gpu.nvidia.com.deviceclass.resource.k8s.io/devices": 8,
        }
    ),
    "limits in order": tenant(
        limits={"min": {"cpu": 0}, "defaultRequest": {"cpu": 1}, "default": {"cpu": 1}, "max": {"cpu": 2}}
    ),
    "levels one by one": tenant(podSecurity={"enforce": "baseline", "warn": "restricted"}),
    "services": tenant(serving=SERVING),
    "two versions of a secret, with the longest ID": on(
        ADD_ON,
        tenant(
            identity={},
            secrets=[{"name": "a" * 255}, {"name": "a" * 255, "version": 3, "file": "former"}],
            network={"egress": "none"},
        ),
    ),
    "tokens": {**tenant(rayAuth="token"), "muster:kuberay": {"version": "1.5.1"}},
}


@pytest.mark.parametrize("config", GOOD_TENANTS.values(), ids=GOOD_TENANTS)
def test_valid_tenants_are_accepted(config: dict[str, Any]) -> None:
    assert parse(config, FILE).tenants
