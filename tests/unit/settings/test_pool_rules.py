"""Rules of machines, GPUs and disks (Compute Engine's and GKE's), each both ways."""

from typing import Any

import pytest

from settings.load import parse
from tests.unit.settings.builders import FILE, Case, refusal, with_pool
from tests.unit.settings.pool_builders import CPU, GPU, H100, MORE, UP_TO_4, V6E, Rule, rule

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
        "n1 machines take some GPUs",
        with_pool({**N1, "gpu": {"type": "nvidia-l4", "count": 1}}),
        with_pool({**N1, "gpu": T4}),
        f"{MORE}.gpu.type",
        '"nvidia-l4"',
        "a GPU that n1 machines take: nvidia-tesla-t4, nvidia-tesla-v100 (Compute Engine, GPU machine types)",
        "did you mean nvidia-tesla-t4?",
    ),
    rule(
        "n1 machines take enough GPUs for their vCPUs",
        with_pool({**N1, "gpu": V100}),
        with_pool({**N1, "gpu": {**V100, "count": 2}}),
        f"{MORE}.gpu.count",
        "1",
        "2 or 4 or 8, as n1-standard-16 takes of nvidia-tesla-v100 (Compute Engine, GPU machine types)",
        "choose another count or machine type",
    ),
    rule(
        "n1 machines may have no GPU, others of GPUs have them",
        with_pool({"machineType": "a2-highgpu-1g", **UP_TO_4}),
        with_pool(N1),
        f"{MORE}.gpu",
        "nothing",
        "{type: nvidia-tesla-a100, count: 1}, which a2-highgpu-1g carries",
        "add `gpu: {type: nvidia-tesla-a100, count: 1}`",
    ),
    rule(
        "some GPUs are split",
        with_pool({**GPU, "gpu": {**GPU["gpu"], "partition": "1g.5gb"}}),
        with_pool({**GPU, "gpu": {**GPU["gpu"], "sharing": {"strategy": "mps", "maxClients": 2}}}),
        f"{MORE}.gpu.partition",
        '"1g.5gb"',
        "no partition: nvidia-l4 can't be split that way (GKE, multi-instance GPUs)",
        "remove `partition`; `sharing` lets several containers use one GPU",
    ),
    rule(
        "a GPU is split into sizes of its own",
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
        "false: it speeds up traffic between GPUs, and there are none (GKE, NCCL Fast Socket)",
        "remove it",
    ),
    rule(
        "newer machines boot from Hyperdisks",
        with_pool({**V6E, "bootDisk": {"type": "pd-ssd"}}),
        with_pool({**V6E, "bootDisk": {"type": "hyperdisk-balanced"}}),
        f"{MORE}.bootDisk.type",
        '"pd-ssd"',
        "hyperdisk-balanced: ct6e-standard-4t takes no Persistent Disk (Compute Engine)",
        "write that, or leave `type` to GKE",
    ),
    rule(
        "machines bring their local SSDs",
        with_pool({**H100, "localSsds": 8}),
        with_pool({**H100, "localSsds": 16}),
        f"{MORE}.localSsds",
        "8",
        "16, as a3-highgpu-8g has it (Compute Engine, Local SSD)",
        "remove it",
    ),
    rule(
        "machines take some numbers of local SSDs",
        with_pool({**CPU, "localSsds": 3}),
        with_pool({**CPU, "localSsds": 2}),
        f"{MORE}.localSsds",
        "3",
        "1 or 2 or 4 or 8 or 16 or 24, as n2-standard-8 has it (Compute Engine, Local SSD)",
        "choose one of these counts",
    ),
    rule(
        "images on secondary boot disks are streamed",
        with_pool({**GPU, **IMAGES, "imageStreaming": False}),
        with_pool({**GPU, **IMAGES}),
        f"{MORE}.imageStreaming",
        "false",
        "true: it reads the images on secondary boot disks (GKE, secondary boot disks)",
        "remove `imageStreaming`, or `secondaryBootDisks`",
    ),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_stack_that_breaks_it_is_refused(rule: Rule) -> None:
    assert refusal(rule.broken.config) == rule.broken.message


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_stack_that_keeps_it_is_accepted(rule: Rule) -> None:
    assert parse(rule.kept, FILE).pools


VALUES = [
    Case(
        "a topology of one axis",
        with_pool({**V6E, "tpu": {"topology": "16"}}),
        f"{MORE}.tpu.topology",
        '"16"',
        "a topology: chips along two or three axes, such as 4x4 or 2x2x4",
        "write it that way",
    ),
    Case(
        "a reservation by its URL",
        with_pool({**GPU, "provisioning": "reserved", "reservation": "https://x"}),
        f"{MORE}.reservation",
        '"https://x"',
        "a reservation's name, with its project if it is another's and with a block of it if wanted",
        "write <name>, projects/<project>/reservations/<name> or <name>/reservationBlocks/<block>",
    ),
    Case(
        "a region for a zone",
        with_pool({**GPU, "zones": ["us-west1"]}),
        f"{MORE}.zones[0]",
        '"us-west1"',
        "a zone such as us-west1-b",
        "name zones of the cluster's region",
    ),
    Case(
        "a container image for a disk image",
        with_pool({**GPU, "secondaryBootDisks": ["rayproject/ray:2.52.0"]}),
        f"{MORE}.secondaryBootDisks[0]",
        '"rayproject/ray:2.52.0"',
        "a disk image with container images in it (GKE, secondary boot disks)",
        "write projects/<project>/global/images/<name>",
    ),
    Case(
        "an upgrade that moves no node",
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
        "a label's key, with an optional DNS prefix and '/' (Kubernetes)",
        "choose such a key",
    ),
    Case(
        "a label's value with a blank",
        with_pool({**GPU, "labels": {"team": "a b"}}),
        f"{MORE}.labels.team",
        '"a b"',
        "a label's value: up to 63 of letters, digits, '-', '_' and '.' (Kubernetes)",
        "choose another",
    ),
    Case(
        "a person for a service account",
        with_pool({**GPU, "serviceAccount": "jo@example.com"}),
        f"{MORE}.serviceAccount",
        '"jo@example.com"',
        "a Google service account's address",
        "write <name>@<project>.iam.gserviceaccount.com",
    ),
    Case(
        "more clients of a GPU than GKE lets in",
        with_pool({**GPU, "gpu": {**GPU["gpu"], "sharing": {"strategy": "mps", "maxClients": 49}}}),
        f"{MORE}.gpu.sharing.maxClients",
        "49",
        "48 or less",
        "lower it",
    ),
]


@pytest.mark.parametrize("case", VALUES, ids=str)
def test_values(case: Case) -> None:
    assert refusal(case.config) == case.message
