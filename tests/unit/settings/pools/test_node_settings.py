"""Rules of the settings of nodes: kernel, kubelet, confidentiality, keys and tags."""

import json
from typing import Any

import pytest

from settings.load import parse, warnings
from settings.model.pools.allocatable import allocatable
from tests.unit.settings.builders import EXISTING, FILE, GOOD, Case, refusal, with_pool
from tests.unit.settings.pools.builders import CPU, H4D, H100, MORE, UP_TO_4, Rule, rule

GIB = 1024**3
KEY = "projects/acme-ml/locations/{}/keyRings/ray/cryptoKeys/disks"
N2D = {"machineType": "n2d-standard-8", **UP_TO_4}
SMALL = {"machineType": "e2-standard-2", **UP_TO_4}  # 8 GiB
B200 = {
    "machineType": "a4-highgpu-8g",
    "gpu": {"type": "nvidia-b200", "count": 8},
    "provisioning": "spot",
    **UP_TO_4,
}
ALIGNED = {"topologyManagerPolicy": "restricted"}
NEW_MACHINE = {"n5-standard-8": {"vcpus": 8, "memoryGib": 32}}
NEAR = "choose or create a key there: keys cannot be moved"
IDS = {f"tagKeys/{i}": f"tagValues/{i}" for i in range(6)}


def linux(pool: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return with_pool({**pool, "linux": keys})


def tags(count: int) -> dict[str, str]:
    return dict(list(IDS.items())[:count])


RULES = [
    rule(
        "a kernel parameter out of range",
        linux(CPU, sysctls={"vm.max_map_count": 1024}),
        linux(CPU, sysctls={"vm.max_map_count": 65536}),
        f'{MORE}.linux.sysctls["vm.max_map_count"]',
        "1024",
        "a whole number from 65536 to 2147483647 (compute-class-api, v1: SysctlsConfig)",
        "choose another value, or remove it",
    ),
    rule(
        "a kernel parameter that is no number",
        linux(CPU, sysctls={"net.core.somaxconn": "many"}),
        linux(CPU, sysctls={"net.ipv4.tcp_congestion_control": "bbr"}),
        f'{MORE}.linux.sysctls["net.core.somaxconn"]',
        '"many"',
        "a whole number from 128 to 2147483647 (compute-class-api, v1: SysctlsConfig)",
        "choose another value, or remove it",
    ),
    rule(
        "huge pages in most of a small node's memory",
        linux(SMALL, hugepages={"2Mi": 2458}),
        linux(SMALL, hugepages={"2Mi": 2457}),
        f"{MORE}.linux.hugepages",
        '{"2Mi": 2458}',
        "huge pages of at most 4.8 GiB, 60 % of the memory of e2-standard-2; these are 4.8 GiB (GKE, node "
        "system configuration)",
        "lower the counts, or choose a larger machine type",
    ),
    rule(
        "huge pages in most of a node's memory",
        linux(CPU, hugepages={"1Gi": 25, "2Mi": 512}),
        linux(CPU, hugepages={"1Gi": 25}),
        f"{MORE}.linux.hugepages",
        '{"1Gi": 25, "2Mi": 512}',
        "huge pages of at most 25.6 GiB, 80 % of the memory of n2-standard-8; these are 26.0 GiB (GKE, node "
        "system configuration)",
        "lower the counts, or choose a larger machine type",
    ),
    rule(
        "confidential nodes of a machine type without them",
        with_pool({**CPU, "confidentialNodes": "sev"}),
        with_pool({**N2D, "confidentialNodes": "sev"}),
        f"{MORE}.machineType",
        '"n2-standard-8"',
        "a machine type with sev: c2d, c3d, c4d, g4-standard-48, n2d (compute-class-api: NodePoolConfig)",
        "choose one, or remove `confidentialNodes`",
    ),
    rule(
        "confidential nodes of another technology",
        with_pool({**H4D, "provisioning": "spot", "confidentialNodes": "sev-snp"}),
        with_pool({**N2D, "confidentialNodes": "sev-snp"}),
        f"{MORE}.machineType",
        '"h4d-highmem-192"',
        "a machine type with sev-snp: n2d (compute-class-api: NodePoolConfig)",
        "choose one, or remove `confidentialNodes`",
    ),
    rule(
        "confidential nodes of one priority only",
        with_pool(
            {
                **N2D,
                "confidentialNodes": "sev",
                "computeClass": {"priorities": [{}, {"machineType": "n2-standard-8"}]},
            }
        ),
        with_pool({**N2D, "confidentialNodes": "sev", "computeClass": {"priorities": [{}]}}),
        f"{MORE}.computeClass.priorities[1].machineType",
        '"n2-standard-8"',
        "a machine type with sev: c2d, c3d, c4d, g4-standard-48, n2d (compute-class-api: NodePoolConfig)",
        "choose one, or remove `confidentialNodes`",
    ),
    rule(
        "RDMA on a machine without it",
        with_pool({**H100, "gpudirect": "rdma", "dranet": True}),
        with_pool({**B200, "gpudirect": "rdma", "dranet": True}),
        f"{MORE}.gpudirect",
        '"rdma"',
        "no rdma: it requires a3-ultragpu-8g or a4-highgpu-8g (GKE, GPUDirect)",
        "remove `gpudirect`, or choose that machine type",
    ),
    rule(
        "RDMA without its networks",
        with_pool({**B200, "gpudirect": "rdma"}),
        with_pool({**B200, "gpudirect": "rdma", "dranet": True}),
        f"{MORE}.dranet",
        "nothing",
        "true: GPUDirect RDMA uses the networks of GKE's accelerator network profile (compute-class-api: "
        "Priority)",
        "write dranet: true, or remove `gpudirect`",
    ),
    rule(
        "a key of disks in another region",
        with_pool({**CPU, "bootDisk": {"kmsKey": KEY.format("us-east1")}}),
        with_pool({**CPU, "bootDisk": {"kmsKey": KEY.format("us-west1")}}),
        f"{MORE}.bootDisk.kmsKey",
        f'"{KEY.format("us-east1")}"',
        "a key in us-west1, where the disks are (GKE, customer-managed encryption keys)",
        NEAR,
    ),
    rule(
        "the cluster's key of disks in another region",
        with_pool(CPU, bootDiskKmsKey=KEY.format("europe-west4")),
        with_pool(CPU, bootDiskKmsKey=KEY.format("global")),
        "muster:cluster.bootDiskKmsKey",
        f'"{KEY.format("europe-west4")}"',
        "a key in us-west1, where the disks are (GKE, customer-managed encryption keys)",
        NEAR,
    ),
    rule(
        "a key of disks in another region, in a cluster made elsewhere",
        with_pool({**CPU, "bootDisk": {"kmsKey": KEY.format("us-east1")}})
        | {"muster:cluster": {**EXISTING, "gke": {"location": "us-west1"}}, "muster:network": None},
        with_pool({**CPU, "bootDisk": {"kmsKey": KEY.format("us-west1")}}),
        f"{MORE}.bootDisk.kmsKey",
        f'"{KEY.format("us-east1")}"',
        "a key in us-west1, where the disks are (GKE, customer-managed encryption keys)",
        NEAR,
    ),
    rule(
        "a tag of an ID and a name",
        with_pool({**CPU, "resourceManagerTags": {"tagKeys/1": "prod"}}),
        with_pool({**CPU, "resourceManagerTags": {"tagKeys/1": "tagValues/2", "1234/env": "prod"}}),
        f"{MORE}.resourceManagerTags.tagKeys/1",
        '"prod"',
        "an ID, tagValues/…, as its key is one (GKE API: ResourceManagerTags)",
        "write both as IDs, or both as names",
    ),
    rule(
        "a tag of a name and an ID",
        with_pool(CPU, resourceManagerTags={"acme-ml/env": "tagValues/2"}),
        with_pool(CPU, resourceManagerTags={"acme-ml/env": "prod"}),
        "muster:cluster.resourceManagerTags.acme-ml/env",
        '"tagValues/2"',
        "a short name, as its key is a name (GKE API: ResourceManagerTags)",
        "write both as IDs, or both as names",
    ),
    rule(
        "six tags of a cluster",
        with_pool(CPU, resourceManagerTags=tags(6)),
        with_pool(CPU, resourceManagerTags=tags(5)),
        "muster:cluster.resourceManagerTags",
        json.dumps(IDS),
        "at most 5 tags (GKE API: ResourceManagerTags)",
        "remove some",
    ),
    rule(
        "six tags with the cluster's",
        with_pool({**CPU, "resourceManagerTags": {"acme-ml/team": "a"}}, resourceManagerTags=tags(5)),
        with_pool({**CPU, "resourceManagerTags": {"tagKeys/1": "tagValues/9"}}, resourceManagerTags=tags(5)),
        f"{MORE}.resourceManagerTags",
        '{"acme-ml/team": "a"}',
        "at most 5 tags, of which the cluster has 5 (GKE API: ResourceManagerTags)",
        "remove some",
    ),
]

VALUES = [
    Case(
        "a misspelt kernel parameter",
        linux(CPU, sysctls={"net.core.somaxcon": 2048}),
        f'{MORE}.linux.sysctls["net.core.somaxcon"]',
        '"net.core.somaxcon"',
        "a kernel parameter that GKE sets (GKE API: LinuxNodeConfig.sysctls; settings/facts)",
        "did you mean net.core.somaxconn?",
    ),
    Case(
        "too few processes",
        with_pool({**CPU, "kubelet": {"podPidsLimit": 1000}}),
        f"{MORE}.kubelet.podPidsLimit",
        "1000",
        "1024 or more",
        "raise it",
    ),
    Case(
        "huge pages of another size",
        linux(CPU, hugepages={"4Mi": 1}),
        f"{MORE}.linux.hugepages.4Mi",
        '"4Mi"',
        "one of 2Mi, 1Gi",
        "did you mean 2Mi?",
    ),
    Case(
        "a tag without a parent",
        with_pool({**CPU, "resourceManagerTags": {"env": "prod"}}),
        f"{MORE}.resourceManagerTags.env",
        '"env"',
        "a key of a tag: tagKeys/ID, ORGANIZATION/KEY or PROJECT/KEY (GKE API: ResourceManagerTags)",
        "write the ID or the namespaced name that `gcloud resource-manager tags keys list` prints",
    ),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_stack_that_breaks_a_rule_of_nodes_is_refused(rule: Rule) -> None:
    assert refusal(rule.broken.config) == rule.broken.message


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_stack_that_keeps_a_rule_of_nodes_is_accepted(rule: Rule) -> None:
    assert parse(rule.valid, FILE).pools


@pytest.mark.parametrize("case", VALUES, ids=str)
def test_invalid_setting_of_a_node_is_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


def test_huge_pages_are_not_other_memory() -> None:
    plain, huge = (
        parse(linux(CPU, **keys), FILE).pools[2] for keys in ({}, {"hugepages": {"1Gi": 4, "2Mi": 8}})
    )

    assert allocatable(plain)["memory"] - allocatable(huge)["memory"] == 4 * GIB + GIB // 64
    assert (huge.capacity["hugepages-1Gi"], huge.capacity["hugepages-2Mi"]) == (str(4 * GIB), str(GIB // 64))


WARNED: dict[str, tuple[dict[str, Any], str, str]] = {
    "alignment of devices only": (
        with_pool({**CPU, "kubelet": ALIGNED}),
        f"{MORE}.kubelet.topologyManagerPolicy",
        "it aligns devices only; write cpuManagerPolicy: static for CPUs, and memoryManagerPolicy: static "
        "for memory",
    ),
    "confidential nodes of a machine type of the stack": (
        with_pool({"machineType": "n5-standard-8", "confidentialNodes": "sev", **UP_TO_4})
        | {"muster:machineTypes": NEW_MACHINE},
        f"{MORE}.machineType",
        "n5-standard-8 was not known to have sev on 2026-08-21: GKE may refuse it",
    ),
}


@pytest.mark.parametrize(("config", "path", "why"), WARNED.values(), ids=list(WARNED))
def test_what_may_have_no_effect_is_a_warning(config: dict[str, Any], path: str, why: str) -> None:
    assert any(
        text.startswith(f"{path}\n") and f"\n  why:    {why}\n" in text
        for text in warnings(parse(config, FILE))
    )


@pytest.mark.parametrize("manager", ["cpuManagerPolicy", "memoryManagerPolicy"])
def test_alignment_with_a_static_manager_is_no_warning(manager: str) -> None:
    config = with_pool({**CPU, "kubelet": {**ALIGNED, manager: "static"}})
    assert not any("topologyManagerPolicy" in text for text in warnings(parse(config, FILE)))


def test_pools_without_settings_of_nodes_have_none() -> None:
    assert all(pool.kubelet is None and pool.linux is None for pool in parse(GOOD, FILE).pools)
