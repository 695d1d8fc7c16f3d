"""Stacks whose tenants do not agree with the rest, or with themselves, each with the whole message."""

from typing import Any

import pytest

from settings.load import SettingsError, parse
from settings.model.operators.namespaces import OPERATORS
from tests.unit.settings.builders import EXISTING, FILE, GOOD, Case, put

CHECKPOINTS = {"bucket": "acme-ml-checkpoints"}
SERVING = {"hosts": {"models.example.com": "vllm"}, "iap": {"members": ["group:ml@example.com"]}}
OWN_MAP = {**SERVING, "certificateMap": "certificates"}
TEAM_B = {"namespace": "team-b", "queues": {"user-queue": "team-a"}}


def tenant(**settings: Any) -> dict[str, Any]:
    """The good stack with more of its tenant."""
    return put("muster:tenants", 0, {**GOOD["muster:tenants"][0], **settings})


def two(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    team_a = {**GOOD["muster:tenants"][0], **first}
    return put("muster:tenants", [team_a, {**TEAM_B, **second}])


def on(cluster: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """The stack with more of its cluster."""
    return {**config, "muster:cluster": {**config["muster:cluster"], **cluster}}


HERE = "muster:tenants[0]"
OWN = (
    "a namespace of the team's own: not default, gpu-operator, kai-scheduler, kuberay-system, kueue-system, "
    "muster-system, nor one of the system's (kube-*, gke-*, gmp-*)"
)
NOT_GOOGLES = "nothing: it is of Google Cloud, and this cluster was not made by the stack"

CASES = [
    Case(
        "a local queue that leads nowhere",
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
    # On another cluster than Google's
    Case(
        "an identity on a cluster that is not GKE's",
        {**tenant(identity={}), "muster:cluster": EXISTING},
        f"{HERE}.identity",
        "{}",
        NOT_GOOGLES,
        "remove `identity`, or write muster:cluster.kind: gke",
    ),
    Case(
        "a Gateway on a cluster that is not GKE's",
        {**tenant(serving=SERVING), "muster:cluster": EXISTING},
        f"{HERE}.serving",
        '{"hosts": {"models.example.com": "vllm"}, "iap": {"members": ["group:ml@example.com"]}}',
        NOT_GOOGLES,
        "remove `serving`, or write muster:cluster.kind: gke",
    ),
    # What the cluster has to have
    Case(
        "a bucket that nothing mounts",
        on({"csiDrivers": ["persistent-disk"]}, tenant(identity={}, checkpoints=CHECKPOINTS)),
        f"{HERE}.checkpoints",
        '{"bucket": "acme-ml-checkpoints"}',
        "nothing: the cluster has no gcs-fuse among its csiDrivers, which mounts buckets",
        "add gcs-fuse to muster:cluster.csiDrivers, or remove `checkpoints`",
    ),
    Case(
        "a Gateway that nobody makes",
        on({"gatewayApi": False}, tenant(serving=SERVING)),
        f"{HERE}.serving",
        '{"hosts": {"models.example.com": "vllm"}, "iap": {"members": ["group:ml@example.com"]}}',
        "nothing: the cluster's gatewayApi is off, and nobody would make the Gateway's load balancer",
        "write muster:cluster.gatewayApi: true, or remove `serving`",
    ),
    Case(
        "devices by claim on a version that serves no claims",
        on({"version": "1.33"}, tenant(deviceClaims={"gpu": {"deviceClass": "gpu.nvidia.com"}})),
        f"{HERE}.deviceClaims",
        '{"gpu": {"deviceClass": "gpu.nvidia.com"}}',
        "nothing: ResourceClaimTemplate is served as v1 from 1.34 on",
        'raise muster:cluster.version to "1.34" or later, or remove `deviceClaims`',
    ),
    Case(
        "network policies that nobody heeds",
        on({"dataplaneV2": False}, tenant(network={"isolated": True})),
        f"{HERE}.network.isolated",
        "true",
        "false: without dataplaneV2 the cluster heeds no NetworkPolicy (GKE, network policy)",
        "write muster:cluster.dataplaneV2: true, or isolated: false",
    ),
    Case(
        "tokens that nobody makes",
        {**tenant(rayAuth="token"), "muster:kuberay": {"version": "1.5.0"}},
        f"{HERE}.rayAuth",
        '"token"',
        "nothing: KubeRay 1.5.0 knows no authOptions",
        "raise muster:kuberay.version to 1.5.1 or later, or remove `rayAuth`",
    ),
    # What of a tenant needs another part of it
    Case(
        "a bucket for nobody",
        tenant(checkpoints=CHECKPOINTS),
        f"{HERE}.identity",
        "nothing",
        "the identity by which pods reach the bucket of `checkpoints`",
        "add `identity: {}`",
    ),
    Case(
        "a bucket out of reach",
        tenant(identity={}, checkpoints=CHECKPOINTS, network={"egress": "none"}),
        f"{HERE}.network.egress",
        '"none"',
        "https or google-apis: the bucket of `checkpoints` is reached by Google's APIs",
        "write google-apis",
    ),
    Case(
        "a namespace too long for a Google service account",
        put("muster:tenants", 0, {**TEAM_B, "namespace": "foundation-models-and-many-more", "identity": {}}),
        f"{HERE}.identity.account",
        "nothing",
        "a name of 6 to 30 characters, which foundation-models-and-many-more-ray is not (IAM: accountId)",
        "add `account` with one",
    ),
    # What has to be one of its own
    Case(
        "two tenants with one bucket",
        two({"identity": {}, "checkpoints": CHECKPOINTS}, {"identity": {}, "checkpoints": CHECKPOINTS}),
        "muster:tenants[1].checkpoints.bucket",
        '"acme-ml-checkpoints"',
        "a bucket of its own",
        "acme-ml-checkpoints is taken already; choose another name",
    ),
    Case(
        "two tenants with one Google service account",
        two({"identity": {}}, {"identity": {"account": "team-a-ray"}}),
        "muster:tenants[1].identity.account",
        '"team-a-ray"',
        "a Google service account of its own",
        "team-a-ray is taken already; choose another name",
    ),
    Case(
        "two tenants behind one host",
        two({"serving": SERVING}, {"serving": SERVING}),
        'muster:tenants[1].serving.hosts["models.example.com"]',
        '"vllm"',
        "a host of its own",
        "models.example.com is taken already; choose another name",
    ),
    Case(
        "a namespace that Google can make no address for",
        put("muster:tenants", 0, {**TEAM_B, "namespace": "3-team", "serving": OWN_MAP}),
        f"{HERE}.namespace",
        '"3-team"',
        "with `serving` one that makes a name of 1 to 63 from a letter on, which 3-team-serving is not "
        "(Compute Engine)",
        "choose another namespace, or remove `serving`",
    ),
    Case(
        "a host that Google can make no certificate's name of",
        tenant(serving={**SERVING, "hosts": {f"{'long-' * 11}name.example.com": "vllm"}}),
        f'{HERE}.serving.hosts["{"long-" * 11}name.example.com"]',
        '"vllm"',
        "a host that makes a certificate's name of 1 to 63 together with the namespace (Certificate Manager)",
        "choose a shorter host, or make its certificate yourself and give `certificateMap`",
    ),
    # Bounds
    Case(
        "a request above the limit",
        tenant(limits={"default": {"cpu": 1}, "defaultRequest": {"cpu": "1500m"}}),
        f"{HERE}.limits.defaultRequest.cpu",
        '"1500m"',
        "at most `default`, which is 1",
        "lower the one or raise the other",
    ),
    Case(
        "a minimum above the maximum",
        tenant(limits={"min": {"memory": "2Gi"}, "max": {"memory": "1Gi"}}),
        f"{HERE}.limits.min.memory",
        '"2Gi"',
        "at most `max`, which is 1Gi",
        "lower the one or raise the other",
    ),
    Case(
        "a ResourceQuota that splits gangs",
        tenant(resourceQuota={"requests.nvidia.com/gpu": 3}),
        f'{HERE}.resourceQuota["requests.nvidia.com/gpu"]',
        "3",
        "at least the nominal quota of its queues, 4: a gang that they admit would start in part",
        "raise it, or lower the queues' quotas",
    ),
    Case(
        "a ResourceQuota that splits gangs of several flavors",
        tenant(resourceQuota={"cpu": 23}),
        f"{HERE}.resourceQuota.cpu",
        "23",
        "at least the nominal quota of its queues, 8 + 16: a gang that they admit would start in part",
        "raise it, or lower the queues' quotas",
    ),
    # Values
    Case(
        "a limit on an extended resource",
        tenant(resourceQuota={"nvidia.com/gpu": 4}),
        f'{HERE}.resourceQuota["nvidia.com/gpu"]',
        '"nvidia.com/gpu"',
        "requests.: of extended resources Kubernetes bounds requests only",
        "write requests.nvidia.com/gpu",
    ),
    Case(
        "a ResourceQuota of nothing known",
        tenant(resourceQuota={"gpus": 4}),
        f"{HERE}.resourceQuota.gpus",
        '"gpus"',
        "what a ResourceQuota can bound: configmaps, cpu, ephemeral-storage, memory, persistentvolumeclaims, "
        "pods, secrets, services, services.loadbalancers, services.nodeports, requests.…, limits.… or "
        "count/…",
        "write it so, as in requests.nvidia.com/gpu or count/rayclusters.ray.io",
    ),
    Case(
        "a group that everyone is in",
        tenant(group="system:authenticated"),
        f"{HERE}.group",
        '"system:authenticated"',
        "a group of your identity provider, not one of Kubernetes' own (system:…)",
        "write the team's group, such as team-a@example.com",
    ),
    Case(
        "a level that is none",
        tenant(podSecurity="strict"),
        f"{HERE}.podSecurity",
        '"strict"',
        "one of privileged, baseline, restricted",
        "did you mean restricted?",
    ),
    Case(
        "a service for everyone",
        tenant(serving={**SERVING, "iap": {"members": ["allUsers"]}}),
        f"{HERE}.serving.iap.members[0]",
        '"allUsers"',
        "who may come in: user:…@…, group:…@…, serviceAccount:…@… or domain:…",
        "write it so, as in group:team-a@example.com (allUsers would be no authentication at all)",
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
        "a host's full name",
        "write it as your DNS has it, such as models.example.com",
    ),
    Case(
        "a bucket of Google's",
        tenant(identity={}, checkpoints={"bucket": "google-checkpoints"}),
        f"{HERE}.checkpoints.bucket",
        '"google-checkpoints"',
        "a bucket name: 3 to 63 of a-z, 0-9, '-' and '_', no '-' or '_' at either end, nothing of google",
        "choose such a name; it has to be one of its own in all of Cloud Storage",
    ),
    Case(
        "deleted objects that are kept too shortly",
        tenant(identity={}, checkpoints={**CHECKPOINTS, "softDeleteDays": 3}),
        f"{HERE}.checkpoints.softDeleteDays",
        "3",
        "0 or 7 to 90 days (Cloud Storage, soft delete)",
        "choose such a number; 0 switches it off",
    ),
    Case(
        "a Google service account of a wrong name",
        tenant(identity={"account": "ray"}),
        f"{HERE}.identity.account",
        '"ray"',
        "6 to 30 of a-z, 0-9 and '-', from a letter to a letter or digit (IAM: accountId)",
        "choose such a name",
    ),
    Case(
        "a certificate map by its full name",
        tenant(serving={**SERVING, "certificateMap": "projects/acme/certificates"}),
        f"{HERE}.serving.certificateMap",
        '"projects/acme/certificates"',
        "the name of a certificate map of the project",
        "write its name alone, as in my-certificates",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_message(case: Case) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(case.config, FILE)

    assert str(refused.value) == case.message


# Each of them is a case above but for one thing.
GOOD_TENANTS = {
    "a bucket that pods reach by Google's APIs alone": tenant(
        identity={}, checkpoints=CHECKPOINTS, network={"egress": "google-apis"}
    ),
    "a bucket without network policies": tenant(
        identity={}, checkpoints=CHECKPOINTS, network={"isolated": False, "egress": "none"}
    ),
    "a long namespace with an account named": put(
        "muster:tenants",
        0,
        {**TEAM_B, "namespace": "foundation-models-and-many-more", "identity": {"account": "models"}},
    ),
    "claims on the first version that serves them": on(
        {"version": "1.34"}, tenant(deviceClaims={"gpu": {"deviceClass": "gpu.nvidia.com"}})
    ),
    "claims on a cluster of unknown version": {
        **tenant(deviceClaims={"gpu": {"deviceClass": "gpu.nvidia.com"}}),
        "muster:cluster": EXISTING,
    },
    "buckets of their own": two(
        {"identity": {}, "checkpoints": CHECKPOINTS}, {"identity": {}, "checkpoints": {"bucket": "others"}}
    ),
    "a ResourceQuota with just room": tenant(resourceQuota={"requests.nvidia.com/gpu": 4, "cpu": 24}),
    "a ResourceQuota of what queues don't count": tenant(
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
    "tokens": {**tenant(rayAuth="token"), "muster:kuberay": {"version": "1.5.1"}},
}


@pytest.mark.parametrize("config", GOOD_TENANTS.values(), ids=GOOD_TENANTS)
def test_accepted(config: dict[str, Any]) -> None:
    assert parse(config, FILE).tenants
