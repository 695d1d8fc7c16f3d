"""Stacks with pools or address ranges that GKE and Compute Engine refuse."""

from typing import Any

import pytest

from tests.unit.settings.builders import GOOD, L4, SYSTEM, Case, put, refusal, with_pool
from tests.unit.settings.pools.builders import H100, SLICES, SPOT, UP_TO_4


def with_ranges(**subnet: str) -> dict[str, Any]:
    return {**GOOD, "muster:network": {"name": "ray", "subnet": subnet}}


def with_gpu_traffic(cidr: str) -> dict[str, Any]:
    return {**GOOD, "muster:network": {"name": "ray", "gpuTraffic": cidr}}


def regional(pool: dict[str, Any]) -> dict[str, Any]:
    """Returns the valid stack with this pool instead of the first, in a regional cluster."""
    config = put("muster:pools", 0, pool)
    return {**config, "muster:cluster": {**config["muster:cluster"], "location": "us-west1"}}


def beside_slices(name: str) -> dict[str, Any]:
    """Returns the valid stack with a pool of slices, v6e, and another pool of this name."""
    slices = {**SLICES, "name": "v6e", "provisioning": "flex-start"}
    return {
        **GOOD,
        "muster:pools": [*GOOD["muster:pools"], slices, {**SYSTEM, "name": name, "flavor": "more"}],
    }


CASES = [
    Case(
        "pods in the range of Docker",
        with_ranges(pods="172.16.0.0/14"),
        "muster:network.subnet.pods",
        '"172.16.0.0/14"',
        "a range that does not overlap 172.17.0.0/16, which is for the Docker bridge of the nodes "
        "(GKE, VPC-native clusters)",
        "choose another one, such as an unused part of 10.0.0.0/8",
    ),
    Case(
        "Services in the range of Docker",
        with_ranges(services="172.17.0.0/20"),
        "muster:network.subnet.services",
        '"172.17.0.0/20"',
        "a range that does not overlap 172.17.0.0/16, which is for the Docker bridge of the nodes "
        "(GKE, VPC-native clusters)",
        "choose another one, such as an unused part of 10.0.0.0/8",
    ),
    Case(
        "pods in multicast addresses",
        with_ranges(pods="224.0.0.0/14"),
        "muster:network.subnet.pods",
        '"224.0.0.0/14"',
        "a range that does not overlap 224.0.0.0/4, which is for multicast (VPC, prohibited ranges)",
        "choose another one, such as an unused part of 10.0.0.0/8",
    ),
    Case(
        "nodes in link-local addresses",
        with_ranges(nodes="169.254.0.0/20"),
        "muster:network.subnet.nodes",
        '"169.254.0.0/20"',
        "a range that does not overlap 169.254.0.0/16, which is for link-local addresses, such as "
        "the metadata server's (VPC, prohibited ranges)",
        "choose another one, such as an unused part of 10.0.0.0/8",
    ),
    Case(
        "pods in loopback addresses",
        with_ranges(pods="127.0.0.0/14"),
        "muster:network.subnet.pods",
        '"127.0.0.0/14"',
        "a range that does not overlap 127.0.0.0/8, which is for loopback addresses (VPC, prohibited ranges)",
        "choose another one, such as an unused part of 10.0.0.0/8",
    ),
    Case(
        "Services in addition to those of Google APIs",
        with_ranges(services="199.36.152.0/22"),
        "muster:network.subnet.services",
        '"199.36.152.0/22"',
        "a range that does not overlap 199.36.153.4/30, which is for restricted.googleapis.com (VPC, "
        "prohibited ranges)",
        "choose another one, such as an unused part of 10.0.0.0/8",
    ),
    Case(
        "GPU traffic in the range of Docker",
        with_gpu_traffic("172.16.0.0/12"),
        "muster:network.gpuTraffic",
        '"172.16.0.0/12"',
        "a range that does not overlap 172.17.0.0/16, which is for the Docker bridge of the nodes "
        "(GKE, VPC-native clusters)",
        "choose another one, such as an unused part of 10.0.0.0/8",
    ),
    Case(
        "Services in those of pods",
        with_ranges(services="10.4.0.0/20"),
        "muster:network.subnet.services",
        '"10.4.0.0/20"',
        "a range that does not overlap 10.4.0.0/14 (VPC, subnets)",
        "choose another one, such as an unused part of 10.0.0.0/8",
    ),
    Case(
        "a range for 16 nodes",
        with_ranges(nodes="10.0.0.0/29"),
        "muster:network.subnet.nodes",
        '"10.0.0.0/29"',
        "room for the 13 nodes that the pools may have; this range has 4 addresses (VPC, subnets)",
        "write a /27 or a larger range",
    ),
    Case(
        "a range for the pods of one node",
        with_ranges(pods="10.4.0.0/24"),
        "muster:network.subnet.pods",
        '"10.4.0.0/24"',
        "at least 3328 addresses for the 13 nodes that the pools may have: each takes twice its "
        "pods, rounded up to a power of two (GKE, VPC-native clusters)",
        "write a /20 or a larger range, or lower the pools' maxPodsPerNode",
    ),
    Case(
        "a range for four Services",
        with_ranges(services="10.8.0.0/30"),
        "muster:network.subnet.services",
        '"10.8.0.0/30"',
        "a range from /28 to /16 for services (GKE, VPC-native clusters)",
        "write a /28",
    ),
    Case(
        "a range for a million Services",
        with_ranges(services="10.16.0.0/12"),
        "muster:network.subnet.services",
        '"10.16.0.0/12"',
        "a range from /28 to /16 for services (GKE, VPC-native clusters)",
        "write a /16",
    ),
    Case(
        "a single address for nodes",
        with_ranges(nodes="10.0.0.1/32"),
        "muster:network.subnet.nodes",
        '"10.0.0.1/32"',
        "room for the 13 nodes that the pools may have; this range has 0 addresses (VPC, subnets)",
        "write a /27 or a larger range",
    ),
    Case(
        "a label of GKE",
        put(*L4, "labels", {"cloud.google.com/gke-nodepool": "l4"}),
        'muster:pools[1].labels["cloud.google.com/gke-nodepool"]',
        '"l4"',
        "a label outside cloud.google.com, whose labels are set by GKE, Kubernetes or this stack "
        "(GKE API: NodeConfig.labels)",
        "remove it, or choose a key of your own, such as example.com/purpose",
    ),
    Case(
        "a label of Kubernetes",
        put(*L4, "labels", {"kubernetes.io/hostname": "l4"}),
        'muster:pools[1].labels["kubernetes.io/hostname"]',
        '"l4"',
        "a label outside kubernetes.io, whose labels are set by GKE, Kubernetes or this stack (GKE "
        "API: NodeConfig.labels)",
        "remove it, or choose a key of your own, such as example.com/purpose",
    ),
    Case(
        "a label of the topology",
        put(*L4, "labels", {"topology.kubernetes.io/zone": "a"}),
        'muster:pools[1].labels["topology.kubernetes.io/zone"]',
        '"a"',
        "a label outside kubernetes.io, whose labels are set by GKE, Kubernetes or this stack (GKE "
        "API: NodeConfig.labels)",
        "remove it, or choose a key of your own, such as example.com/purpose",
    ),
    Case(
        "a label of this stack",
        put(*L4, "labels", {"muster.dev/pool": "l4"}),
        'muster:pools[1].labels["muster.dev/pool"]',
        '"l4"',
        "a label outside muster.dev, whose labels are set by GKE, Kubernetes or this stack (GKE API: "
        "NodeConfig.labels)",
        "remove it, or choose a key of your own, such as example.com/purpose",
    ),
    Case(
        "pd-standard for L4",
        put(*L4, "bootDisk", {"type": "pd-standard"}),
        "muster:pools[1].bootDisk.type",
        '"pd-standard"',
        "pd-balanced or pd-ssd: the boot disks that g2-standard-4 supports (Compute Engine, disk types)",
        "write pd-balanced, or remove `type`",
    ),
    Case(
        "a Hyperdisk for L4",
        put(*L4, "bootDisk", {"type": "hyperdisk-balanced"}),
        "muster:pools[1].bootDisk.type",
        '"hyperdisk-balanced"',
        "pd-balanced or pd-ssd: the boot disks that g2-standard-4 supports (Compute Engine, disk types)",
        "write pd-balanced, or remove `type`",
    ),
    Case(
        "a Hyperdisk for E2",
        put("muster:pools", 0, "bootDisk", {"type": "hyperdisk-balanced"}),
        "muster:pools[0].bootDisk.type",
        '"hyperdisk-balanced"',
        "pd-standard or pd-balanced or pd-ssd: the boot disks that e2-standard-4 supports (Compute "
        "Engine, disk types)",
        "write pd-standard, or remove `type`",
    ),
    Case(
        "pd-standard for H100",
        with_pool({**H100, **SPOT, "bootDisk": {"type": "pd-standard"}}),
        "muster:pools[2].bootDisk.type",
        '"pd-standard"',
        "pd-balanced or pd-ssd or hyperdisk-balanced: the boot disks that a3-highgpu-8g supports "
        "(Compute Engine, disk types)",
        "write pd-balanced, or remove `type`",
    ),
    Case(
        "a disk of 100 TB",
        put(*L4, "bootDisk", {"sizeGb": 100_000}),
        "muster:pools[1].bootDisk.sizeGb",
        "100000",
        "at most 65536, which are 64 TB (Compute Engine, disk limits)",
        "lower it",
    ),
    Case(
        "a disk too small for an image",
        put(*L4, "bootDisk", {"sizeGb": 9}),
        "muster:pools[1].bootDisk.sizeGb",
        "9",
        "10 or more",
        "raise it",
    ),
    Case(
        "initial nodes in three zones",
        regional({**SYSTEM, "nodes": {"max": 5, "initial": 2}}),
        "muster:pools[0].nodes.initial",
        "2",
        "at most nodes.max, which is 5; 2 in each of 3 zones are 6",
        "lower `initial` or raise `max`",
    ),
    Case(
        "initial nodes in two zones",
        regional({**SYSTEM, "zones": ["us-west1-a", "us-west1-b"], "nodes": {"max": 3, "initial": 2}}),
        "muster:pools[0].nodes.initial",
        "2",
        "at most nodes.max, which is 3; 2 in each of 2 zones are 4",
        "lower `initial` or raise `max`",
    ),
    Case(
        "a million nodes",
        put("muster:pools", 0, "nodes", "max", 1_000_000),
        "muster:pools[0].nodes.max",
        "1000000",
        "at most 65000 nodes, the most of a cluster (GKE, quotas and limits)",
        "lower it",
    ),
    Case(
        "a million slices, each with a node pool",
        with_pool({**SLICES, "slices": {"max": 1_000_000}}),
        "muster:pools[2].slices.max",
        "1000000",
        "1000 or less",
        "lower it",
    ),
    Case(
        "a zone twice",
        regional({**SYSTEM, "zones": ["us-west1-a", "us-west1-a"]}),
        "muster:pools[0].zones[1]",
        '"us-west1-a"',
        "each value once",
        "remove all but the intended one",
    ),
    Case(
        "a zone outside the region",
        regional({**SYSTEM, "zones": ["us-west2-a"]}),
        "muster:pools[0].zones[0]",
        '"us-west2-a"',
        "a zone of us-west1, where the cluster is (GKE API: NodePool.locations)",
        "choose one, such as us-west1-a",
    ),
    Case(
        "a zone that does not exist",
        regional({**SYSTEM, "zones": ["us-west1-z"]}),
        "muster:pools[0].zones[0]",
        '"us-west1-z"',
        "a zone of us-west1: us-west1-a, us-west1-b, us-west1-c (Compute Engine, regions and zones)",
        "choose one of them",
    ),
    Case(
        "compact placement of E2",
        put("muster:pools", 0, "placement", "compact"),
        "muster:pools[0].placement",
        '"compact"',
        "no placement: e2-standard-4 does not support it, only n2, h4d, g2, a2, a3, a4 machines and "
        "TPU slices do (cluster-toolkit, gke-node-pool)",
        "remove `placement`",
    ),
    Case(
        "compact placement of N1",
        with_pool({"machineType": "n1-standard-8", **UP_TO_4, "placement": "compact"}),
        "muster:pools[2].placement",
        '"compact"',
        "no placement: n1-standard-8 does not support it, only n2, h4d, g2, a2, a3, a4 machines and "
        "TPU slices do (cluster-toolkit, gke-node-pool)",
        "remove `placement`",
    ),
    Case(
        "compact placement of G4",
        with_pool(
            {
                "machineType": "g4-standard-48",
                "gpu": {"type": "nvidia-rtx-pro-6000", "count": 1},
                **UP_TO_4,
                "placement": "compact",
            }
        ),
        "muster:pools[2].placement",
        '"compact"',
        "no placement: g4-standard-48 does not support it, only n2, h4d, g2, a2, a3, a4 machines and "
        "TPU slices do (cluster-toolkit, gke-node-pool)",
        "remove `placement`",
    ),
    Case(
        "a pool with the name of a slice's",
        beside_slices("v6e-1"),
        "muster:pools[3].name",
        '"v6e-1"',
        "a unique name: v6e-1 is a node pool of v6e (GKE API: NodePool.name)",
        "choose another name",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mistaken_pools_and_addresses_are_refused(case: Case) -> None:
    assert refusal(case.config) == case.message
