"""Rules of ComputeClasses."""

import json
from typing import Any

import pytest

from settings.load import parse
from tests.unit.settings.builders import EXISTING, FILE, Case, refusal, with_pool
from tests.unit.settings.pools.builders import CPU, GPU, H100_ALONE, MORE, SLICES, V6E

SPOT, FLEX = {"provisioning": "spot"}, {"provisioning": "flex-start"}
ON_DEMAND: dict[str, Any] = {}
RESERVED = {"provisioning": "reserved", "reservation": "l4s"}
CLASS = f"{MORE}.computeClass"
FIRST = f"{CLASS}.priorities[0]"
NODE_POOLS_ONLY = "no value: this needs a node pool (compute-class-api: Priority, NodePoolConfig)"
QUEUED_ALONE = (
    "other provisioning: a ComputeClass has no queued nodes, which belong to one node pool and are created "
    "for one ProvisioningRequest, without a fallback (compute-class-api: Priority)"
)


def with_class(*priorities: dict[str, Any], pool: dict[str, Any] = GPU, **more: Any) -> dict[str, Any]:
    """Returns the valid stack with another pool that has a ComputeClass of these priorities."""
    cluster = {"version": more.pop("version")} if "version" in more else {}
    return with_pool({**pool, "computeClass": {"priorities": list(priorities)}, **more}, **cluster)


def elsewhere() -> dict[str, Any]:
    config = with_class(SPOT)
    del config["muster:network"]
    return {**config, "muster:cluster": EXISTING}


def under_kai() -> dict[str, Any]:
    config = with_class(SPOT)
    config["muster:admission"]["engine"] = "kai"
    config["muster:pools"][1]["provisioning"] = "on-demand"
    return config


def fixed(name: str, key: str, **more: Any) -> Case:
    """Returns a case of a key that only node pools have."""
    enabled = {"true": True}
    value = more[key]
    text = next((word for word, of in enabled.items() if of is value), f'"{value}"')
    remedy = "remove it, or `computeClass`"
    return Case(name, with_class(SPOT, **more), f"{MORE}.{key}", text, NODE_POOLS_ONLY, remedy)


BROKEN = [
    Case(
        "queued",
        with_class(ON_DEMAND, provisioning="queued"),
        f"{MORE}.provisioning",
        '"queued"',
        QUEUED_ALONE,
        "remove `computeClass`",
    ),
    Case(
        "a queued priority",
        with_class({"provisioning": "queued"}),
        f"{FIRST}.provisioning",
        '"queued"',
        QUEUED_ALONE,
        "choose one, or remove `computeClass`",
    ),
    Case(
        "spot above its priorities",
        with_class(ON_DEMAND, provisioning="spot"),
        f"{MORE}.provisioning",
        '"spot"',
        "no value: each priority has its own",
        "move it to `computeClass.priorities`",
    ),
    Case(
        "zones above its priorities",
        with_class(SPOT, zones=["us-west1-b"]),
        f"{MORE}.zones",
        '["us-west1-b"]',
        "no value: each priority has its own",
        "move it to `computeClass.priorities`",
    ),
    fixed("compact placement", "placement", placement="compact", zones=[]),
    fixed("Fast Socket", "fastSocket", fastSocket=True),
    Case(
        "slices of several hosts",
        with_class(FLEX, pool=SLICES, **{"zones": []}),
        f"{MORE}.slices",
        '{"max": 2}',
        NODE_POOLS_ONLY,
        "remove it, or `computeClass`",
    ),
    Case(
        "nodes at first",
        with_class(SPOT, nodes={"initial": 1, "max": 4}),
        f"{MORE}.nodes.initial",
        "1",
        "no value: GKE creates the nodes of a ComputeClass when pods need them, and `min` in advance",
        "remove `initial`, or write `min`",
    ),
    Case(
        "any reservation for spot",
        with_class({**SPOT, "anyReservation": "best-effort"}),
        f"{FIRST}.anyReservation",
        '"best-effort"',
        "no value: only on-demand nodes are taken from reservations that are not named",
        "remove it, or write provisioning: on-demand",
    ),
    Case(
        "recycled spot nodes",
        with_class({**SPOT, "recycleLeadSeconds": 600}),
        f"{FIRST}.recycleLeadSeconds",
        "600",
        "no value: only flex-start nodes are recycled (compute-class-api: FlexStart)",
        "remove it, or write provisioning: flex-start",
    ),
    Case(
        "nodes that are recycled when they start",
        with_class({**FLEX, "maxRunSeconds": 3600, "recycleLeadSeconds": 3600}),
        f"{FIRST}.recycleLeadSeconds",
        "3600",
        "less than 3600, the run time of the nodes (compute-class-api: FlexStart)",
        "lower it",
    ),
    Case(
        "a wait for spot GPUs",
        with_class({**SPOT, "capacityCheckWaitSeconds": 600}),
        f"{FIRST}.capacityCheckWaitSeconds",
        "600",
        "no value: GKE waits only for flex-start nodes and TPUs (compute-class-api: Priority)",
        "remove it, or write provisioning: flex-start",
    ),
    Case(
        "a wait of two days",
        with_class({**FLEX, "capacityCheckWaitSeconds": 172800}),
        f"{FIRST}.capacityCheckWaitSeconds",
        "172800",
        "86400 or less",
        "lower it",
    ),
    Case(
        "a placement policy by its path",
        with_class({"placementPolicy": "projects/acme/regions/us-west1/resourcePolicies/rack"}),
        f"{FIRST}.placementPolicy",
        '"projects/acme/regions/us-west1/resourcePolicies/rack"',
        "the name of a resource policy in the cluster's region (compute-class-api: Placement)",
        "write the bare name, such as my-policy",
    ),
    Case(
        "more priorities than GKE accepts",
        with_class(*[SPOT] * 1001),
        f"{CLASS}.priorities",
        json.dumps([SPOT] * 1001),
        "at most 1000 entries",
        "remove the others",
    ),
    Case(
        "a zone of another region",
        with_class({"zones": ["us-east1-b"]}),
        f"{FIRST}.zones[0]",
        '"us-east1-b"',
        "a zone of us-west1, where the cluster is (GKE API: NodePool.locations)",
        "choose one, such as us-west1-a",
    ),
    Case(
        "no reservation",
        with_class({"provisioning": "reserved"}),
        f"{FIRST}.reservation",
        "nothing",
        "the reservation to take nodes from (GKE, SPECIFIC_RESERVATION)",
        "add `reservation: <name>`, or write provisioning: on-demand, which uses open ones",
    ),
    Case(
        "a reservation for spot",
        with_class({**SPOT, "reservation": "l4s"}),
        f"{FIRST}.reservation",
        '"l4s"',
        "no reservation: spot nodes cannot use one (cluster-toolkit, gke-node-pool)",
        "remove `reservation`, or write provisioning: reserved",
    ),
    Case(
        "flex-start for more than a week",
        with_class({**FLEX, "maxRunSeconds": 604801}),
        f"{FIRST}.maxRunSeconds",
        "604801",
        "at most 604800: flex-start nodes run for up to 7 days (GKE, flex-start)",
        "lower it",
    ),
    Case(
        "flex-start of CPUs",
        with_class(FLEX, pool=CPU),
        f"{FIRST}.provisioning",
        '"flex-start"',
        "on-demand or spot: flex-start requires GPUs, TPUs or an h4d machine (GKE, flex-start)",
        "choose on-demand, or such a machine type",
    ),
    Case(
        "one H100 on demand",
        with_class(SPOT, {**ON_DEMAND, "machineType": "a3-highgpu-1g"}, pool=H100_ALONE),
        f"{CLASS}.priorities[1].provisioning",
        "nothing",
        "spot, flex-start or queued: on 2026-11-26 a3-highgpu-1g was offered in no other way (Compute "
        "Engine, consumption options)",
        "choose one of them, or another machine type; muster:machineTypes can correct this fact",
    ),
    Case(
        "a fallback with two GPUs",
        with_class(SPOT, {"machineType": "g2-standard-24"}),
        f"{CLASS}.priorities[1].machineType",
        '"g2-standard-24"',
        "a machine type with the GPUs of g2-standard-4, which the flavor's quotas count on",
        "choose one, or give these nodes a pool and a flavor of their own",
    ),
    Case(
        "a smaller fallback",
        with_class(SPOT, {"machineType": "n2-standard-4"}, pool=CPU),
        f"{CLASS}.priorities[1].machineType",
        '"n2-standard-4"',
        "a machine type with at least the vCPUs and the memory of n2-standard-8, which the flavor's quotas "
        "count on",
        "choose one, or give these nodes a pool and a flavor of their own",
    ),
    Case(
        "a fallback without the disk's type",
        with_class(SPOT, {"machineType": "h4d-standard-192"}, pool={**CPU, "bootDisk": {"type": "pd-ssd"}}),
        f"{CLASS}.priorities[1].machineType",
        '"h4d-standard-192"',
        "a machine type with the boot disk's type of n2-standard-8, which the flavor's quotas count on",
        "choose one, or give these nodes a pool and a flavor of their own",
    ),
    Case(
        "a fallback without the local SSDs",
        with_class(SPOT, {"machineType": "n2-standard-64"}, pool={**CPU, "localSsds": 2}),
        f"{CLASS}.priorities[1].machineType",
        '"n2-standard-64"',
        "a machine type with the local SSDs of n2-standard-8, which the flavor's quotas count on",
        "choose one, or give these nodes a pool and a flavor of their own",
    ),
    Case(
        "a fallback with other TPUs",
        with_class(FLEX, {**FLEX, "machineType": "ct6e-standard-8t"}, pool=V6E),
        f"{CLASS}.priorities[1].machineType",
        '"ct6e-standard-8t"',
        "a machine type with the TPU chips of ct6e-standard-4t, which the flavor's quotas count on",
        "choose one, or give these nodes a pool and a flavor of their own",
    ),
    Case(
        "an old version",
        with_class(SPOT, version="1.33.2-gke.1"),
        "muster:cluster.version",
        '"1.33.2-gke.1"',
        "1.33.3-gke.1136000 or later, for the ComputeClass of pool more without node auto-provisioning (GKE, "
        "node pool auto-creation)",
        "raise it, or add `nodeAutoProvisioning`",
    ),
    Case(
        "a cluster elsewhere",
        elsewhere(),
        CLASS,
        '{"priorities": [{"provisioning": "spot"}]}',
        "no value: it needs GKE, and this cluster is not known to be there",
        "remove it, or say in muster:cluster.gke where the cluster is",
    ),
    Case(
        "engine kai",
        under_kai(),
        CLASS,
        '{"priorities": [{"provisioning": "spot"}]}',
        "no value: pods select the class by their flavor, and engine kai has no flavors",
        "remove it, or choose engine: muster (or kueue)",
    ),
]

KEPT = {
    "all ways": with_class(RESERVED, ON_DEMAND, {**SPOT, "zones": ["us-west1-a"]}, FLEX),
    "a larger machine": with_class(SPOT, {**SPOT, "machineType": "g2-standard-16"}),
    "single-host TPUs": with_class(FLEX, pool=V6E),
    "nodes in advance": with_class(SPOT, nodes={"min": 1, "max": 4}),
    "zones of a reservation": with_class({**RESERVED, "zones": ["us-west1-b"]}),
    "shared GPUs": with_class(
        SPOT, pool={**GPU, "gpu": {**GPU["gpu"], "sharing": {"strategy": "mps", "maxClients": 2}}}
    ),
    "no nodes at first": with_class(SPOT, nodes={"min": 0, "initial": 0, "max": 4}),
    "SSDs that both machines have": with_class(
        SPOT, {"machineType": "n2-standard-16"}, pool={**CPU, "localSsds": 2}
    ),
}


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_what_gke_cannot_create_by_itself_is_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


@pytest.mark.parametrize("config", KEPT.values(), ids=KEPT.keys())
def test_ways_to_get_nodes_are_accepted(config: dict[str, Any]) -> None:
    assert parse(config, FILE).pools[2].compute_class


def test_old_versions_create_them_with_node_auto_provisioning() -> None:
    config = with_class(SPOT, version="1.33.2-gke.1")
    limits = {"cpu": {"max": 1000}, "memory": {"max": 4000}, "accelerators": {"nvidia-l4": {"max": 100}}}
    config["muster:cluster"]["nodeAutoProvisioning"] = limits
    assert parse(config, FILE).pools[2].compute_class
