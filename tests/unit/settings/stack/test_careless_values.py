"""Values that are valid by themselves, and that Google Cloud, Kubernetes or KubeRay refuses or ignores."""

from typing import Any

import pytest

from settings.load import SettingsError, parse, warnings
from tests.unit.settings.builders import (
    EXISTING,
    FILE,
    GOOD,
    GPU_HOURS,
    L4,
    SYSTEM,
    TEAM_A,
    put,
    section,
    tenant,
    with_kueue,
)

Config = dict[str, Any]
HOSTS = {"iap": {"members": ["group:callers@example.com"]}}
NETWORK = {"name": "ray"}
CLAIM = {"devices": {"deviceClass": "gpu.nvidia.com", "count": 2}}
COUNTED = {"name": "nvidia.com/gpu", "deviceClassNames": ["gpu.nvidia.com"]}
PRICES = {"currency": "USD", "date": "2026-11-01", "source": "list"}
JOURNAL = {"journal": {"existingBucket": "acme-ml-data"}}
TEAM = {"namespace": "team-a", "queues": {"user-queue": "team-a"}}
STORING = {**TEAM, "storage": "10Gi"}
MOUNTING = {**TEAM, "identity": {}, "checkpoints": {"bucket": "acme-ml-data"}}
LABELS = {f"label-{i}": "x" for i in range(65)}


def served(host: str, service: str = "vllm") -> Config:
    return tenant(identity={}, serving={"hosts": {host: service}, **HOSTS})


def reaching(cidr: str) -> Config:
    return tenant(network={"destinations": [{"cidr": cidr}]})


def quota(**hard: Any) -> Config:
    return tenant(resourceQuota={key.replace("__", "/").replace("_", "."): n for key, n in hard.items()})


def checked(name: str, controller: str) -> Config:
    config = put("muster:queues", "checks", [{"name": name, "controller": controller}])
    config["muster:queues"]["clusterQueues"][0]["checks"] = {name: []}
    return config


def shared(*path_and_value: Any) -> Config:
    config = put(*path_and_value)
    return {**config, "muster:controller": {**GOOD["muster:controller"], "fairSharing": {}}}


def lone(**values: Any) -> Config:
    """Returns a stack with fair sharing and another queue, in no cohort."""
    queue = {"name": "cpu", "quotas": {"cpu": {"cpu": 1, "memory": "1Gi"}}, **values}
    config = shared("muster:queues", "clusterQueues", 1, queue)
    config["muster:tenants"][0]["queues"]["cpu"] = "cpu"
    return config


def claiming(count: int) -> Config:
    config = tenant(deviceClaims={"devices": {**CLAIM["devices"], "count": count}})
    return {**config, "muster:admission": {**GOOD["muster:admission"], "deviceClasses": [COUNTED]}}


def two_budgets(*more: Config) -> Config:
    return put(*TEAM_A, "budgets", [GPU_HOURS, *more])


def threshold(value: int) -> Config:
    borrowing = {"policy": "LowerPriority", "maxPriorityThreshold": value}
    return put(*TEAM_A, "preemption", "borrowWithinCohort", borrowing)


def page(**values: Any) -> Config:
    return section("muster:controller", page=values)


def priced(price: Config) -> Config:
    return section("muster:forecast", prices={**PRICES, "acceleratorHour": price})


REFUSED: dict[str, tuple[Config, str]] = {
    "a network of each new project": ({**GOOD, "muster:network": {"name": "default"}}, "another name"),
    "65 labels": (section("muster:cluster", labels=LABELS), "at most 64 entries"),
    "a host of the local network": (served("models.internal"), "a host name of the public DNS"),
    "a host of mDNS": (served("models.local"), "a host name of the public DNS"),
    "a RayService of 48 characters": (served("models.example.com", "v" * 48), "the name of a RayService"),
    "a RayService that begins with a digit": (served("models.example.com", "2b"), "the name of a RayService"),
    "the metadata server as a destination": (reaching("169.254.169.254/32"), "a range that pods reach"),
    "loopback as a destination": (reaching("127.0.0.0/8"), "a range that pods reach"),
    "multicast as a destination": (reaching("224.0.0.0/4"), "a range that pods reach"),
    "a device for each container": (tenant(limits={"default": {"nvidia.com/gpu": 1}}), "no nvidia.com/gpu"),
    "a request for a device for each container": (
        tenant(limits={"defaultRequest": {"nvidia.com/gpu": 1}}),
        "no nvidia.com/gpu",
    ),
    "a LimitRange of pods": (tenant(limits={"max": {"pods": 10}}), "a resource of containers"),
    "no Services": (quota(services=0), "at least 1, for the Service of each head"),
    "no Services, counted": (quota(count__services=0), "at least 1, for the Service of each head"),
    "no ConfigMaps": (quota(configmaps=0), "at least 1, for the certificates of the API server"),
    "no RayClusters for RayJobs": (quota(count__rayclusters_ray_io=0), "at least 1, for the RayCluster"),
    "no Jobs for RayJobs": (quota(count__jobs_batch=0), "at least 1, for the Job"),
    "no Secrets for tokens": (tenant(resourceQuota={"secrets": 0}, rayAuth="token"), "for the tokens of Ray"),
    "no claims for storage": (
        tenant(resourceQuota={"persistentvolumeclaims": 0}, storage="1Gi"),
        "claims of",
    ),
    "storage of 10 bytes": (tenant(storage=10), "an amount of bytes, at least 1Mi"),
    "DaemonSets of 700 bytes": (
        put(*L4, "daemonSets", {"cpu": 1, "memory": 700}),
        "an amount of bytes, at least 1Mi",
    ),
    "storage without a driver": (
        {**section("muster:cluster", csiDrivers=["gcs-fuse"]), "muster:tenants": [STORING]},
        "no value: the cluster's csiDrivers include none",
    ),
    "checkpoints in the bucket of the journal": (
        {**section("muster:controller", **JOURNAL), "muster:tenants": [MOUNTING]},
        "a unique bucket",
    ),
    "the name of the stack's own check": (
        checked("queued-provisioning", "acme.example/budget"),
        "another name than queued-provisioning",
    ),
    "a check of Kueue's controller without Kueue": (
        checked("remote", "kueue.x-k8s.io/multikueue"),
        "a controller of your own",
    ),
    "a weight of a root": (shared("muster:queues", "cohorts", 0, "weight", 2), "no weight: without `parent`"),
    "a weight of a queue in no cohort": (lone(weight=2), "no weight: without `cohort`"),
    "a budget of 100 bytes": (
        two_budgets({"resource": "memory", "hours": 100, "period": "month"}),
        "hours of bytes: 100 hours of 1 GiB are 107374182400",
    ),
    "namespaces with which Kueue does not start": (
        with_kueue(managedNamespaces={"kubernetes.io/metadata.name": "kube-system"}),
        "labels of other namespaces than kube-system",
    ),
    "an empty prefix": (with_kueue(excludeResourcePrefixes=[""]), "a text that is not empty"),
}


@pytest.mark.parametrize(("config", "expected"), REFUSED.values(), ids=REFUSED)
def test_values_that_cannot_work_are_refused(config: Config, expected: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(config, FILE)
    (problem,) = refused.value.problems
    assert expected in problem.expected
    assert problem.remedy != "fix it"


WARNED: dict[str, tuple[Config, str]] = {
    "a range of the internet": (
        {**GOOD, "muster:network": {**NETWORK, "subnet": {"nodes": "34.0.0.0/20"}}},
        "a range of the internet: nodes and pods reach no host there",
    ),
    "an office without a public endpoint": (
        section("muster:cluster", authorizedNetworks={"office": "34.1.2.0/24"}),
        "the control plane has no public address",
    ),
    "a range that no network has": (
        {**GOOD, "muster:network": {**NETWORK, "gpuTraffic": "172.20.0.0/16"}},
        "no pool has `gpudirect",
    ),
    "a check that delays nothing": (
        put("muster:queues", "checks", [{"name": "budget", "controller": "acme.example/budget"}]),
        "no cluster queue's `checks` name it",
    ),
    "requests for nodes of no pool": (
        {
            **put(*L4, "provisioning", "on-demand"),
            "muster:admission": {**GOOD["muster:admission"], "queuedProvisioning": {"maxRunSeconds": 86400}},
        },
        "no pool has `provisioning: queued`",
    ),
    "an upgrade of a pool that exists": (
        {**put("muster:pools", 0, {**SYSTEM, "upgrade": {"maxSurge": 2}}), "muster:cluster": EXISTING},
        "the pool is in the cluster already",
    ),
    "a threshold above all priorities": (threshold(5000), "with this threshold, it bounds nothing"),
    "a threshold below all priorities": (threshold(-1), "with this threshold, no gang may be preempted"),
    "a larger budget of a shorter time": (
        two_budgets({**GPU_HOURS, "period": "day"}),
        "the budget of 100 hours a month of team-a is used up before",
    ),
    "a larger budget that warns": (
        two_budgets({**GPU_HOURS, "hours": 200, "enforcement": "warn"}),
        "the budget of 100 hours a month of team-a is used up before",
    ),
    "a page that nothing may reach": (
        page(hostNames=["queues.example.com"]),
        "no pod may connect to the page",
    ),
    "a page that refuses its gateway": (page(namespaces=["gateway"]), "the page refuses their requests"),
    "a claim of more devices than a node has": (claiming(2), "nodes have at most 1 nvidia.com/gpu"),
    "a recovery of a second": (
        section("muster:controller", waitForPodsReady={"timeoutSeconds": 900, "recoveryTimeoutSeconds": 1}),
        "the successor of a failed pod usually needs",
    ),
    "containers below a submitter": (
        tenant(limits={"max": {"cpu": "500m"}}),
        "the submitter that KubeRay adds to a RayJob has a limit of 1 of cpu",
    ),
    "containers above a submitter": (
        tenant(limits={"min": {"memory": "256Mi"}}),
        "the submitter that KubeRay adds to a RayJob requests 200Mi of memory",
    ),
    "an operator of another version than its CRDs": (
        section("muster:kuberay", version="1.6.2", image="quay.io/kuberay/operator:v1.1.0"),
        "its tag is of version 1.1.0, but CRDs and roles are those of 1.6.2",
    ),
    "a price of CPUs": (priced({"cpu": 1}), "pool system has no accelerators"),
    "a price of another provisioning": (
        priced({"l4": {"spot": 1}}),
        "pool l4 is queued, for which there is no",
    ),
    "quotas without memory for a RayJob": (
        lone(quotas={"cpu": {"cpu": 1, "memory": "256Mi"}}),
        "its submitter alone requests 200Mi of memory",
    ),
}


@pytest.mark.parametrize(("config", "why"), WARNED.values(), ids=WARNED)
def test_values_without_an_effect_are_warned_of(config: Config, why: str) -> None:
    assert sum(why in text for text in warnings(parse(config, FILE))) == 1
    assert why not in "".join(warnings(parse(GOOD, FILE)))


QUIET: dict[str, Config] = {
    "a budget of a day that a month does not cover": two_budgets({**GPU_HOURS, "hours": 10, "period": "day"}),
    "a warning before the budget": two_budgets({**GPU_HOURS, "hours": 50, "enforcement": "warn"}),
    "a threshold among the priorities": threshold(100),
    "a page behind a gateway": page(hostNames=["queues.example.com"], namespaces=["gateway"]),
    "an image of the same version": section(
        "muster:kuberay", version="1.6.2", image="registry.example/operator:v1.6.2-acme"
    ),
    "containers like a head": tenant(limits={"max": {"cpu": 1, "memory": "2Gi"}}),
    "a claim of the devices of a node": claiming(1),
    "prices by provisioning": priced({"l4": {"queued": 1, "spot": 0.5}}),
    "an office with a public endpoint": section(
        "muster:cluster", publicEndpoint=True, authorizedNetworks={"office": "34.1.2.0/24"}
    ),
    "a network behind the private endpoint": section(
        "muster:cluster", authorizedNetworks={"vpn": "10.99.0.0/16"}
    ),
    "a private destination": reaching("10.20.0.5/32"),
    "no RayJobs at all": quota(count__rayjobs_ray_io=0, count__rayclusters_ray_io=0, count__jobs_batch=0),
}


@pytest.mark.parametrize("config", QUIET.values(), ids=QUIET)
def test_values_that_are_meant_are_accepted(config: Config) -> None:
    assert warnings(parse(config, FILE)) == warnings(parse(GOOD, FILE))
