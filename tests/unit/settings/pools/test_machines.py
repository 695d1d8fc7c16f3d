"""Rules of machines, GPUs and disks, each with a violating and a valid stack."""

from typing import Any

import pytest

from settings.load import parse
from tests.unit.settings.builders import FILE, Case, refusal, with_pool
from tests.unit.settings.pools.builders import CPU, GPU, H100, MORE, UP_TO_4, V6E, Rule, rule

A100: dict[str, Any] = {
    "machineType": "a2-highgpu-1g",
    "gpu": {"type": "nvidia-tesla-a100", "count": 1},
    **UP_TO_4,
}
T4 = {"type": "nvidia-tesla-t4", "count": 1}
V100 = {"type": "nvidia-tesla-v100", "count": 1}
N1 = {"machineType": "n1-standard-16", **UP_TO_4}
IMAGES = {"secondaryBootDisks": ["global/images/ray-2-52"]}

RULES = [
    rule(
        "n1 machines support some types of GPUs",
        with_pool({**N1, "gpu": {"type": "nvidia-l4", "count": 1}}),
        with_pool({**N1, "gpu": T4}),
        f"{MORE}.gpu.type",
        '"nvidia-l4"',
        "a GPU for n1 machines: nvidia-tesla-t4, nvidia-tesla-v100 (Compute Engine, GPU machine types)",
        "did you mean nvidia-tesla-t4?",
    ),
    rule(
        "n1 machines need enough GPUs for their vCPUs",
        with_pool({**N1, "gpu": V100}),
        with_pool({**N1, "gpu": {**V100, "count": 2}}),
        f"{MORE}.gpu.count",
        "1",
        "2 or 4 or 8: the counts of nvidia-tesla-v100 that n1-standard-16 supports (Compute Engine, "
        "GPU machine types)",
        "choose another count or machine type",
    ),
    rule(
        "GPUs are optional on n1 machines only",
        with_pool({"machineType": "a2-highgpu-1g", **UP_TO_4}),
        with_pool(N1),
        f"{MORE}.gpu",
        "nothing",
        "{type: nvidia-tesla-a100, count: 1}, the GPUs of a2-highgpu-1g",
        "add `gpu: {type: nvidia-tesla-a100, count: 1}`",
    ),
    rule(
        "some GPUs support MIG",
        with_pool({**GPU, "gpu": {**GPU["gpu"], "partition": "1g.5gb"}}),
        with_pool({**GPU, "gpu": {**GPU["gpu"], "sharing": {"strategy": "mps", "maxClients": 2}}}),
        f"{MORE}.gpu.partition",
        '"1g.5gb"',
        "no partition: nvidia-l4 does not support MIG (GKE, multi-instance GPUs)",
        "remove `partition`; `sharing` lets several containers use one GPU",
    ),
    rule(
        "sizes of partitions depend on the GPU",
        with_pool({**A100, "gpu": {**A100["gpu"], "partition": "1g.10gb"}}),
        with_pool({**A100, "gpu": {**A100["gpu"], "partition": "1g.5gb"}}),
        f"{MORE}.gpu.partition",
        '"1g.10gb"',
        "a partition of nvidia-tesla-a100: 1g.5gb, 2g.10gb, 3g.20gb, 7g.40gb (GKE, multi-instance GPUs)",
        "did you mean 2g.10gb?",
    ),
    rule(
        "Fast Socket is for GPUs",
        with_pool({**CPU, "fastSocket": True}),
        with_pool({**GPU, "fastSocket": True}),
        f"{MORE}.fastSocket",
        "true",
        "false: it speeds up traffic between GPUs, and the pool has none (GKE, NCCL Fast Socket)",
        "remove it",
    ),
    rule(
        "newer machines boot from Hyperdisks",
        with_pool({**V6E, "bootDisk": {"type": "pd-ssd"}}),
        with_pool({**V6E, "bootDisk": {"type": "hyperdisk-balanced"}}),
        f"{MORE}.bootDisk.type",
        '"pd-ssd"',
        "hyperdisk-balanced: the boot disks that ct6e-standard-4t supports (Compute Engine, disk types)",
        "write hyperdisk-balanced, or remove `type`",
    ),
    rule(
        "machines with a fixed number of local SSDs",
        with_pool({**H100, "localSsds": 8}),
        with_pool({**H100, "localSsds": 16}),
        f"{MORE}.localSsds",
        "8",
        "16: what a3-highgpu-8g supports (Compute Engine, Local SSD)",
        "remove it",
    ),
    rule(
        "machines with a choice of local SSDs",
        with_pool({**CPU, "localSsds": 3}),
        with_pool({**CPU, "localSsds": 2}),
        f"{MORE}.localSsds",
        "3",
        "1 or 2 or 4 or 8 or 16 or 24: what n2-standard-8 supports (Compute Engine, Local SSD)",
        "choose one of these counts",
    ),
    rule(
        "images on secondary boot disks are streamed",
        with_pool({**GPU, **IMAGES, "imageStreaming": False}),
        with_pool({**GPU, **IMAGES}),
        f"{MORE}.imageStreaming",
        "false",
        "true: secondary boot disks require image streaming (GKE, secondary boot disks)",
        "remove `imageStreaming`, or `secondaryBootDisks`",
    ),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_stack_that_breaks_a_machine_rule_is_refused(rule: Rule) -> None:
    assert refusal(rule.broken.config) == rule.broken.message


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_stack_that_keeps_a_machine_rule_is_accepted(rule: Rule) -> None:
    assert parse(rule.valid, FILE).pools


VALUES = [
    Case(
        "a topology of one axis",
        with_pool({**V6E, "tpu": {"topology": "16"}}),
        f"{MORE}.tpu.topology",
        '"16"',
        "a topology: chips along two or three axes",
        "write it as 4x4 or 2x2x4",
    ),
    Case(
        "a reservation by its URL",
        with_pool({**GPU, "provisioning": "reserved", "reservation": "https://x"}),
        f"{MORE}.reservation",
        '"https://x"',
        "a reservation's name, optionally with its project or a reservation block",
        "write <name>, projects/<project>/reservations/<name> or <name>/reservationBlocks/<block>",
    ),
    Case(
        "a region for a zone",
        with_pool({**GPU, "zones": ["us-west1"]}),
        f"{MORE}.zones[0]",
        '"us-west1"',
        "a zone such as us-west1-b",
        "write a zone of the cluster's region",
    ),
    Case(
        "a container image for a disk image",
        with_pool({**GPU, "secondaryBootDisks": ["rayproject/ray:2.52.0"]}),
        f"{MORE}.secondaryBootDisks[0]",
        '"rayproject/ray:2.52.0"',
        "a disk image that contains container images (GKE, secondary boot disks)",
        "write projects/<project>/global/images/<name>",
    ),
    Case(
        "an upgrade that replaces no node",
        with_pool({**GPU, "upgrade": {"maxSurge": 0}}),
        f"{MORE}.upgrade",
        '{"maxSurge": 0}',
        "maxSurge or maxUnavailable of 1 or more (GKE API: UpgradeSettings)",
        "raise one of them",
    ),
    Case(
        "a label's key with a blank",
        with_pool({**GPU, "labels": {"a team": "data"}}),
        f'{MORE}.labels["a team"]',
        '"a team"',
        "a label key, with an optional DNS prefix and '/' (Kubernetes)",
        "rename it",
    ),
    Case(
        "a label's value with a blank",
        with_pool({**GPU, "labels": {"team": "a b"}}),
        f"{MORE}.labels.team",
        '"a b"',
        "a label value: up to 63 of letters, digits, '-', '_' and '.' (Kubernetes)",
        "choose another value",
    ),
    Case(
        "a person for a service account",
        with_pool({**GPU, "serviceAccount": "jo@example.com"}),
        f"{MORE}.serviceAccount",
        '"jo@example.com"',
        "the e-mail address of a Google service account",
        "write <name>@<project>.iam.gserviceaccount.com",
    ),
    Case(
        "more clients of a GPU than GKE allows",
        with_pool({**GPU, "gpu": {**GPU["gpu"], "sharing": {"strategy": "mps", "maxClients": 49}}}),
        f"{MORE}.gpu.sharing.maxClients",
        "49",
        "48 or less",
        "lower it",
    ),
]


@pytest.mark.parametrize("case", VALUES, ids=str)
def test_invalid_values_of_pools_are_refused(case: Case) -> None:
    assert refusal(case.config) == case.message
