"""Stacks with invalid combinations of pools and cluster, each with its error message."""

import pytest

from tests.unit.settings.builders import CPU_BATCH, L4, ONLY_L4, SYSTEM, Case, put, refusal

CASES = [
    Case(
        "a GKE cluster without a project",
        put("gcp:project", None),
        "gcp:project",
        "nothing",
        "the Google Cloud project that the cluster belongs to",
        "add `gcp:project`",
    ),
    Case(
        "two pools of one name",
        put("muster:pools", 2, {**SYSTEM, "flavor": "other"}),
        "muster:pools[2].name",
        '"system"',
        "a unique pool name",
        "system is already in use; choose another name",
    ),
    Case(
        "two pools of one flavor",
        put("muster:pools", 2, {**SYSTEM, "name": "other"}),
        "muster:pools[2].flavor",
        '"cpu"',
        "a unique flavor: a flavor is one kind of node",
        "cpu is already in use; choose another name",
    ),
    Case(
        "GPUs on a machine without GPUs",
        put(
            "muster:pools", 2, {**CPU_BATCH, "provisioning": "spot", "gpu": {"type": "nvidia-l4", "count": 1}}
        ),
        "muster:pools[2].gpu",
        '{"type": "nvidia-l4", "count": 1}',
        "no GPU: e2-standard-4 has none",
        "remove `gpu`, or choose a g2, a2 or a3 machine",
    ),
    Case(
        "no GPUs on a machine with GPUs",
        put(*L4, "gpu", None),
        "muster:pools[1].gpu",
        "nothing",
        "{type: nvidia-l4, count: 1}, the GPUs of g2-standard-4",
        "add `gpu: {type: nvidia-l4, count: 1}`",
    ),
    Case(
        "GPUs of another type than the machine's",
        put(*L4, "gpu", "type", "nvidia-t4"),
        "muster:pools[1].gpu.type",
        '"nvidia-t4"',
        "nvidia-l4, the GPU of g2-standard-4",
        "write nvidia-l4, or choose another machine type",
    ),
    Case(
        "more GPUs than the machine has",
        put(*L4, "gpu", "count", 2),
        "muster:pools[1].gpu.count",
        "2",
        "1, the number of GPUs of g2-standard-4",
        "write 1, or choose another machine type",
    ),
    Case(
        "a minimum above the maximum",
        put("muster:pools", 0, "nodes", "min", 4),
        "muster:pools[0].nodes.min",
        "4",
        "at most nodes.max, which is 3",
        "lower `min` or raise `max`",
    ),
    Case(
        "more initial nodes than the maximum",
        put("muster:pools", 0, "nodes", "initial", 4),
        "muster:pools[0].nodes.initial",
        "4",
        "at most nodes.max, which is 3",
        "lower `initial` or raise `max`",
    ),
    Case(
        "a queued pool with a minimum",
        put(*L4, "nodes", "min", 1),
        "muster:pools[1].nodes.min",
        "1",
        "0: only ProvisioningRequests add nodes to a queued pool (GKE, queued provisioning)",
        "write 0, or remove `min`",
    ),
    Case(
        "a queued pool with initial nodes",
        put(*L4, "nodes", "initial", 1),
        "muster:pools[1].nodes.initial",
        "1",
        "0: only ProvisioningRequests add nodes to a queued pool (GKE, queued provisioning)",
        "write 0, or remove `initial`",
    ),
    Case(
        "a queued pool of CPUs",
        put("muster:pools", 2, CPU_BATCH),
        "muster:pools[2].provisioning",
        '"queued"',
        "on-demand or spot: GKE rejects ProvisioningRequests for pods without accelerators",
        "choose on-demand, or a machine type with GPUs",
    ),
    Case(
        "all pools queued",
        {**put("muster:pools", 0, None), "muster:queues": ONLY_L4},
        "muster:pools",
        '[{"name": "l4", "machineType": "g2-standard-4", "gpu": {"type": "nvidia-l4", '
        '"count": 1}, "provisioning": "queued", "nodes": {"max": 10}}]',
        "a pool that is not queued, for system pods and Ray heads (GKE, queued provisioning)",
        "add one, such as {name: system, machineType: e2-standard-4, nodes: {min: 1, max: 3}}",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_conflicting_pools_are_refused(case: Case) -> None:
    assert refusal(case.config) == case.message
