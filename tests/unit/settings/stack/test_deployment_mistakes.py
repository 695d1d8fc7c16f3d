"""Mistakes that only a deployment would show: names, rights and quotas of Google Cloud and Kubernetes, and
keys that nothing reads."""

from typing import Any

import pytest

from settings.load import SettingsError, parse, warnings
from tests.unit.components.signing_keys import KEY, PEM
from tests.unit.settings.builders import (
    EXISTING,
    FILE,
    GOOD,
    L4,
    TEAM_A,
    put,
    section,
    tenant,
    with_engine,
    with_kueue,
)

Config = dict[str, Any]
NETWORK = {"name": "ray"}
RSA = "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----"
SHARED_PARTITIONS = {
    "type": "nvidia-tesla-a100",
    "count": 1,
    "partition": "1g.5gb",
    "sharing": {"strategy": "mps", "maxClients": 2},
}
A100 = {"machineType": "a2-highgpu-1g", "gpu": SHARED_PARTITIONS}
SPOT = {"priorities": [{"provisioning": "spot"}]}
BLOCK, SUBBLOCK = "cloud.google.com/gce-topology-block", "cloud.google.com/gce-topology-subblock"
EXCLUSION = {"name": "freeze", "start": "2020-12-01T00:00:00Z", "end": "2020-12-24T00:00:00Z"}
SUBNET = "projects/acme-host/regions/us-west1/subnetworks/ray"


def quota(key: str, hard: int, **values: Any) -> Config:
    return tenant(resourceQuota={key: hard}, **values)


def joined(**cluster: Any) -> Config:
    """Returns a stack of an existing cluster in GKE."""
    gke = {"gke": {"location": "us-west1-b"}, "apiServer": [{"cidr": "10.0.0.2/32"}]}
    return {**GOOD, "muster:cluster": {**EXISTING, **gke, **cluster}}


def signed(**signature: Any) -> Config:
    return put("muster:controller", {"build": {"signature": {"key": KEY, "publicKey": PEM, **signature}}})


def serving(hosts: int) -> Config:
    names = {f"m{i}.example.com": "vllm" for i in range(hosts)}
    return tenant(identity={}, serving={"hosts": names, "iap": {"members": ["group:ml@example.com"]}})


def tenants_serving_one_group(count: int) -> Config:
    iap = {"members": ["group:ml@example.com"]}
    tenants = [
        {
            "namespace": f"team-{i}",
            "queues": {"user-queue": "team-a"},
            "serving": {"hosts": {f"m{i}.example.com": "vllm"}, "iap": iap},
        }
        for i in range(count)
    ]
    return put("muster:tenants", tenants)


def fair(**values: Any) -> Config:
    """Returns a stack whose queue is ordered by usage."""
    config = with_kueue(admissionFairSharing={"usageHalfLifeSeconds": 3600, **values})
    queue = {**GOOD["muster:queues"]["clusterQueues"][0], "admissionFairSharing": True}
    return {**config, "muster:queues": {**GOOD["muster:queues"], "clusterQueues": [queue]}}


def checked(**check: Any) -> Config:
    config = {**with_kueue(), **put(*TEAM_A, "checks", {"remote": []})}
    config["muster:queues"]["checks"] = [
        {"name": "remote", "controller": "kueue.x-k8s.io/multikueue", **check}
    ]
    return {key: value for key, value in config.items() if key != "muster:controller"} | {
        "muster:admission": {"engine": "kueue"}
    }


def aging(maximum: int) -> Config:
    return section("muster:controller", rules={"aging": {"step": 1, "periodSeconds": 60, "max": maximum}})


def asked_to_wait(seconds: int) -> Config:
    config = put("muster:pools", 0, "nodes", {"min": 1, "max": 3})
    return {
        **config,
        "muster:controller": {**GOOD["muster:controller"], "rules": {"minimumRunSeconds": seconds}},
    }


def reaching(cidr: str) -> Config:
    return {**tenant(network={"destinations": [{"cidr": cidr}]}), "muster:network": NETWORK}


REFUSED: dict[str, tuple[Config, str]] = {
    "an account for a provider of the program": (
        put("gcp:impersonateServiceAccount", "deploy@acme-ml.iam.gserviceaccount.com"),
        "the program declares its own provider of gcp",
    ),
    "a context for a provider of the program": (
        put("kubernetes:context", "prod"),
        "the program declares its own provider of kubernetes",
    ),
    "a context of another cluster": (
        joined(context="gke_acme-ml_us-west1-b_other"),
        "the context of this cluster, gke_acme-ml_us-west1-b_sandbox",
    ),
    "a context of another project": (
        joined(context="gke_acme-prod_us-west1-b_sandbox"),
        "the context of this cluster, gke_acme-ml_us-west1-b_sandbox",
    ),
    "a port that no control plane has": (
        joined(apiServer=[{"cidr": "10.0.0.2/32", "ports": [6443]}]),
        "a list with 443",
    ),
    "a network without the project of its subnet": (
        section("muster:cluster", network="ray", subnetwork=SUBNET, podsRange="p", servicesRange="s"),
        "a network of project acme-host, as the subnet is",
    ),
    "a channel of another project": (
        {
            **section(
                "muster:observability", notify={"channels": ["projects/acme-ops/notificationChannels/1"]}
            ),
            "muster:network": NETWORK,
        },
        "a channel of project acme-ml",
    ),
    "more hosts than a condition may have": (serving(14), "at most 13 hosts"),
    "a group that may call 21 tenants": (tenants_serving_one_group(21), "a member of at most 20 tenants"),
    "an identity of all pods": (
        tenant(identity={"serviceAccount": "default"}),
        "another name: pods that name",
    ),
    "nodes with a tenant's account": (
        {
            **tenant(identity={"account": "team-a-pods"}),
            **{
                key: put(*L4, "serviceAccount", "team-a-pods@acme-ml.iam.gserviceaccount.com")[key]
                for key in ("muster:pools",)
            },
        },
        "an account that no pod has: pods of team-a act as this one",
    ),
    "no Workloads": (quota("count/workloads.kueue.x-k8s.io", 0), "the Workload by which each job is queued"),
    "no PodGroups": (
        {
            **with_engine("kai"),
            "muster:tenants": quota("count/podgroups.scheduling.run.ai", 0)["muster:tenants"],
        },
        "the PodGroup of each gang",
    ),
    "no requests for nodes": (
        quota("count/provisioningrequests.autoscaling.x-k8s.io", 0),
        "the request for the nodes of each gang",
    ),
    "no addresses of heads": (
        quota("count/endpointslices.discovery.k8s.io", 0),
        "the addresses of each head",
    ),
    "no NetworkPolicies": (quota("count/networkpolicies.networking.k8s.io", 0), "the NetworkPolicies of the"),
    "no local queues": (quota("count/localqueues.kueue.x-k8s.io", 0), "at least 1, for its local queues"),
    "one ServiceAccount with an identity": (quota("count/serviceaccounts", 1, identity={}), "at least 2"),
    "no ResourceQuotas": (quota("count/resourcequotas", 0), "at least 1, for this ResourceQuota"),
    "events, which Kubernetes does not count": (
        quota("count/events.events.k8s.io", 1),
        "count/ and the plural of a kind with its API group",
    ),
    "a ComputeClass of GKE": (
        put(
            *L4,
            {
                "name": "autopilot",
                "flavor": "l4",
                "machineType": "g2-standard-4",
                "gpu": {"type": "nvidia-l4", "count": 1},
                "computeClass": SPOT,
                "nodes": {"max": 10},
            },
        ),
        "another name than autopilot and autopilot-spot",
    ),
    "a scope of no alignment": (
        put(*L4, "kubelet", {"topologyManagerScope": "pod"}),
        "no value: without `topologyManagerPolicy` nothing is aligned",
    ),
    "blocks inside their parts": (put(*L4, "topology", [SUBBLOCK, BLOCK]), f"a level inside {SUBBLOCK}"),
    "CPUs that are not counted": (
        with_kueue(transformations=[{"input": "cpu", "strategy": "Replace"}]),
        "Retain, as queues have quota of cpu",
    ),
    "a weight of no resource": (
        fair(resourceWeights={"nvidia.com/gpus": 1}),
        "a resource with quota in this file, whose usage is counted",
    ),
    "weights of nothing": (
        fair(resourceWeights={"cpu": 0, "memory": 0, "nvidia.com/gpu": 0}),
        "a weight above 0 of one resource at least",
    ),
    "remote clusters without a configuration": (checked(), "a MultiKueueConfig"),
    "remote clusters with another object": (
        checked(parameters={"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "x"}),
        "a MultiKueueConfig",
    ),
    "an algorithm of another key": (
        signed(algorithm="RSA_SIGN_PKCS1_4096_SHA512"),
        "an algorithm of the public key, which is ECDSA_P256_SHA256",
    ),
    "a curve for an RSA key": (signed(publicKey=RSA), "an algorithm of the public key, which is RSA"),
    "a domain of Google's APIs": (
        section("muster:cluster", dns={"provider": "cloud-dns", "scope": "vpc", "domain": "googleapis.com"}),
        "a domain other than googleapis.com",
    ),
    "a domain above the metadata server": (
        section("muster:cluster", dns={"provider": "cloud-dns", "domain": "internal"}),
        "a domain other than google.internal",
    ),
    "storage of nothing": (tenant(storage="0"), "more than 0: nothing could be claimed"),
    "a key of an application": (put("datadog:appKey", "0123456789abcdef"), "no credential in plain text"),
    "a user and a password": (put("grafana:auth", "admin:admin"), "no credential in plain text"),
}


@pytest.mark.parametrize(("config", "expected"), REFUSED.values(), ids=REFUSED)
def test_values_that_a_deployment_would_fail_on_are_refused(config: Config, expected: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(config, FILE)
    (problem,) = refused.value.problems
    assert expected in problem.expected
    assert problem.remedy != "fix it"


WARNED: dict[str, tuple[Config, str]] = {
    "MPS on partitions": (
        put(*L4, {"name": "l4", **A100, "nodes": {"max": 4}})
        | {"muster:cluster": {**GOOD["muster:cluster"], "location": "us-central1-a"}},
        "does not support MPS on partitioned GPUs",
    ),
    "aging below the next priority": (aging(100), "all priorities are at least 900 apart"),
    "a run time that is as long as nodes live": (
        asked_to_wait(604800),
        "nodes with accelerators end after 604800 seconds",
    ),
    "an operator of GPUs without GPUs": (
        {
            **put(*TEAM_A, "quotas", {"cpu": {"cpu": 8, "memory": "32Gi"}}),
            "muster:pools": GOOD["muster:pools"][:1],
            "muster:gpuOperator": {"install": "helm"},
        },
        "no pool has GPUs",
    ),
    "roles in no host project": (section("muster:cluster", hostRoles=False), "of the stack's own project"),
    "an exclusion that is over": (
        section(
            "muster:cluster",
            maintenance={"window": {"start": "02:00", "hours": 8}, "exclusions": [EXCLUSION]},
        ),
        "so it excludes nothing",
    ),
    "a backup of a namespace misspelt": (
        section("muster:cluster", backup={"namespaces": ["taem-a"]}),
        "no tenant has this namespace; did you mean team-a?",
    ),
    "a client that is the tenant": (tenant(network={"clients": ["team-a"]}), "the tenant's own namespace"),
    "a destination among pods": (reaching("10.4.1.0/24"), "in the cluster's own range `pods`"),
    "a destination among nodes": (reaching("10.0.0.7/32"), "in the cluster's own range `nodes`"),
    "a namespace of an operator": (
        tenant(namespace="istio-system"),
        "namespaces of this form are usually an operator's",
    ),
    "priorities below jobs without a class": (
        section("muster:admission", priorities={"prod": -1, "dev": -100}),
        "jobs without a priority class have priority 0",
    ),
    "usage that is forgotten": (fair(usageHalfLifeSeconds=10), "counts less than half at the next sample"),
    "managed namespaces without a tenant": (
        with_kueue(managedNamespaces={"team": "web"}),
        "no tenant's namespace has these labels",
    ),
}


@pytest.mark.parametrize(("config", "why"), WARNED.values(), ids=WARNED)
def test_values_that_have_no_effect_once_deployed_are_warned_of(config: Config, why: str) -> None:
    assert sum(why in text for text in warnings(parse(config, FILE))) == 1
    assert why not in "".join(warnings(parse(GOOD, FILE)))


QUIET: dict[str, Config] = {
    "the region of the cluster": put("gcp:region", "us-west1"),
    "the cluster's own context": joined(context="gke_acme-ml_us-west1-b_sandbox"),
    "a context of another form": joined(context="staging"),
    "the port of the control plane": joined(apiServer=[{"cidr": "10.0.0.2/32", "ports": [443, 8132]}]),
    "as many hosts as a condition may have": serving(13),
    "a group that may call 20 tenants": tenants_serving_one_group(20),
    "room for one Workload": quota("count/workloads.kueue.x-k8s.io", 1),
    "levels in order": put(*L4, "topology", [BLOCK, SUBBLOCK, "kubernetes.io/hostname"]),
    "a weight of one resource": fair(resourceWeights={"cpu": 0, "memory": 0}),
    "CPUs that are counted as others": with_kueue(
        transformations=[{"input": "nvidia.com/mig-1g.5gb", "strategy": "Replace", "outputs": {"cpu": "1"}}]
    ),
    "remote clusters": checked(
        parameters={"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "remote"}
    ),
    "the key's algorithm": signed(),
    "an RSA key": signed(publicKey=RSA, algorithm="RSA_SIGN_PKCS1_2048_SHA256"),
    "aging to the next priority": aging(900),
    "a run time of an hour": asked_to_wait(3600),
    "a destination outside of the cluster": reaching("10.99.0.7/32"),
    "managed namespaces of tenants": with_kueue(managedNamespaces={"muster.dev/tenant": "true"}),
}


@pytest.mark.parametrize("config", QUIET.values(), ids=QUIET)
def test_values_that_can_be_deployed_are_accepted(config: Config) -> None:
    parse(config, FILE)
    usual = {text for base in (GOOD, with_kueue()) for text in warnings(parse(base, FILE))}
    assert {*warnings(parse(config, FILE))} <= usual
