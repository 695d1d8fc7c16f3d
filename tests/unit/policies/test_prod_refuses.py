"""Changes of stack prod that weaken it, each refused by a policy of prod or by the settings themselves."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from policies.environment import KEY, enforced
from policies.rule import Resource, ResourceRule
from policies.rules import RULES
from settings.load import SettingsError
from tests.unit.components.harness import Declarations, declare_platform
from tools.toolchain.paths import CHECKOUT

pytestmark = pytest.mark.slow

Config = dict[str, Any]
GROUPS = "gke-security-groups@example.com"
UNLIMITED = {"cpu": {"max": 10_000_000}, "memory": {"max": 100_000_000}}
DAY = "T00:00:00Z"
SETTINGS = "refused by the settings"


def small_prod() -> Config:
    """Returns stack prod with its first team and its pools only, which takes a third of the time."""
    config: Config = yaml.safe_load((CHECKOUT / "stacks" / "Pulumi.prod.yaml").read_text())["config"]
    del config["muster:observability"], config["muster:forecast"]
    config["muster:pools"] = [p for p in config["muster:pools"] if p["name"] in ("system", "l4")]
    queues = config["muster:queues"]
    queues["clusterQueues"] = [q for q in queues["clusterQueues"] if q["name"] == "inference"]
    config["muster:tenants"] = [t for t in config["muster:tenants"] if t["namespace"] == "inference"]
    return config


PROD = small_prod()


def cluster(**changes: Any) -> Callable[[Config], None]:
    """Returns a change of the cluster's settings; a key that is None is removed."""

    def change(config: Config) -> None:
        merged = {**config["muster:cluster"], **changes}
        config["muster:cluster"] = {key: value for key, value in merged.items() if value is not None}

    return change


def tenants(**changes: Any) -> Callable[[Config], None]:
    def change(config: Config) -> None:
        for tenant in config["muster:tenants"]:
            tenant.update(changes)

    return change


def section(key: str, **changes: Any) -> Callable[[Config], None]:
    def change(config: Config) -> None:
        config[key] = {**config.get(key, {}), **changes}

    return change


def pools(**changes: Any) -> Callable[[Config], None]:
    def change(config: Config) -> None:
        for pool in config["muster:pools"]:
            pool.update(changes)

    return change


def dev(config: Config) -> None:
    config[KEY] = "dev"


def default_network(config: Config) -> None:
    del config["muster:network"]


def iap(*members: str) -> Callable[[Config], None]:
    def change(config: Config) -> None:
        config["muster:tenants"][0]["serving"]["iap"] = {"members": list(members)}

    return change


def exclusions(*periods: tuple[str, str, str | None]) -> Callable[[Config], None]:
    """Returns a change of the exclusions to these: scope, start, end."""
    named = [
        {"name": f"e-{i}", "scope": scope, "start": start + DAY, **({"end": end + DAY} if end else {})}
        for i, (scope, start, end) in enumerate(periods)
    ]
    window = {"start": "03:00", "hours": 6, "days": ["TU", "TH"]}
    return cluster(maintenance={"window": window, "exclusions": named})


FREEZES = [("no-upgrades", "2026-10-01", "2026-12-25"), ("no-upgrades", "2026-12-26", "2027-03-01")]
REFUSED: dict[str, tuple[Callable[[Config], None], str]] = {
    "environment: dev on prod's project": (dev, "muster-project-of-environment"),
    "no KMS key": (cluster(secretsEncryption=None), "cis-gke-5.3.1-secrets-encryption"),
    "no key of boot disks": (cluster(bootDiskKmsKey=None), "cis-gke-5.9.2-boot-disk-keys"),
    "no upgrades of nodes until the end of support": (
        pools(maintenanceExclusion="until-end-of-support"),
        "muster-upgrades-are-not-withheld",
    ),
    "no Binary Authorization": (cluster(binaryAuthorization=False), "cis-gke-4.5.1-binary-authorization"),
    "requests without credentials": (
        cluster(anonymousAuthentication="enabled"),
        "muster-no-anonymous-requests",
    ),
    "nodes with public addresses": (cluster(privateNodes=False), "cis-gke-5.6.5-private-nodes"),
    "unsigned software at boot": (pools(secureBoot=False), "cis-gke-5.5.7-secure-boot"),
    "no flow logs": (section("muster:network", flowLogs=False), "cis-gke-5.6.1-flow-logs"),
    "privileged pods": (tenants(podSecurity="privileged"), "cis-gke-4.2.1-pod-security"),
    "a namespace that all pods reach": (
        tenants(network={"isolated": False}),
        "cis-gke-4.3.2-namespace-has-network-policy",
    ),
    "a cluster that can be deleted": (cluster(deletionProtection=False), "muster-deletion-protection"),
    "no security posture": (cluster(securityPosture=False), "cis-gke-5.10.4-security-posture"),
    "jobs outside of queues": (tenants(queueRequired=False), "muster-tenants-need-queues"),
    "Ray without tokens": (tenants(rayAuth=None), "muster-tenants-need-ray-tokens"),
    "egress to everywhere": (
        tenants(network={"destinations": [{"cidr": "0.0.0.0/0"}]}),
        "muster-tenant-egress-is-bounded",
    ),
    "egress to everywhere in two parts": (
        tenants(network={"destinations": [{"cidr": "0.0.0.0/1"}, {"cidr": "128.0.0.0/1", "ports": [443]}]}),
        "muster-tenant-egress-is-bounded",
    ),
    "callers with any account of gmail.com": (iap("domain:gmail.com"), SETTINGS),
    "a private account as a caller": (iap("user:jo@gmail.com"), "muster-no-public-members"),
    "the default network": (default_network, "muster-no-default-network"),
    "an exclusion without an end": (
        exclusions(("no-minor-or-node-upgrades", "2026-12-01", None)),
        "muster-upgrades-are-not-withheld",
    ),
    "exclusions in a row": (exclusions(*FREEZES), "muster-upgrades-are-not-withheld"),
    "an owner's account on nodes": (
        pools(serviceAccount="owner@acme-ml-prod.iam.gserviceaccount.com"),
        "muster-node-account-is-of-the-stack",
    ),
    "an operator's image by tag": (
        section("muster:kuberay", image="quay.io/kuberay/operator:v1.6.2"),
        "muster-images-have-a-digest",
    ),
    "an operator's image from a registry in which anyone publishes": (
        section("muster:kuberay", image=f"kuberay/operator:v1.6.2@sha256:{'0' * 64}"),
        "cis-gke-5.1.4-images-are-from-allowed-registries",
    ),
    "no logs of workloads": (cluster(logs=[]), "cis-gke-5.7.1-workload-logs"),
    "the group of all groups as a team": (tenants(group=GROUPS), SETTINGS),
    "labels of another environment": (
        cluster(labels={"environment": "dev", "cost-center": "ml-platform"}),
        "muster-cost-labels",
    ),
    "an unknown cost center": (
        cluster(labels={"environment": "prod", "cost-center": "none"}),
        "muster-cost-labels",
    ),
    "ten million CPUs": (cluster(nodeAutoProvisioning=UNLIMITED), "muster-pool-size-is-bounded"),
    "the page open to a tenant": (
        section("muster:controller", page={"namespaces": ["inference"]}),
        "muster-tenants-do-not-reach-operators",
    ),
}


def violations(declared: Declarations, environment: str) -> Iterator[str]:
    """Yields the ids of mandatory rules that the resources violate."""
    config = enforced({KEY: environment}, [rule.id for rule in RULES])
    resources = [Resource(each.type, each.name, each.inputs, each.protect) for each in declared.values()]
    for rule in RULES:
        configured = config[rule.id]
        if configured["enforcementLevel"] != "mandatory":
            continue
        if isinstance(rule, ResourceRule):
            violating = [r for r in resources if rule.reads(r.kind) and any(rule.messages(r, configured))]
        else:
            violating = [violation.resource for violation in rule.violations(resources, configured)]
        if {resource.name for resource in violating} - set(configured.get("exempt", {})):
            yield rule.id


def judged(change: Callable[[Config], None]) -> list[str]:
    config = copy.deepcopy(PROD)
    change(config)
    try:
        declared = declare_platform(config)
    except SettingsError:
        return [SETTINGS]
    return list(violations(declared, config[KEY]))


@pytest.mark.parametrize(("change", "refused"), REFUSED.values(), ids=REFUSED.keys())
def test_a_weaker_prod_is_refused_for_that_reason_only(
    change: Callable[[Config], None], refused: str
) -> None:
    assert set(judged(change)) - ALSO.get(refused, set()) == {refused}


# A weakness that is one of another kind, too.
ALSO = {"muster-project-of-environment": {"muster-cost-labels"}}


def use_gpu_operator(config: Config) -> None:
    config["muster:gpuOperator"] = {"install": "helm"}
    for pool in config["muster:pools"]:
        if pool.get("gpu"):
            pool["gpu"] = {**pool["gpu"], "driver": "disabled"}


@pytest.mark.parametrize("change", [lambda config: None, use_gpu_operator], ids=["prod", "GPU Operator"])
def test_prod_passes(change: Callable[[Config], None]) -> None:
    assert judged(change) == []
