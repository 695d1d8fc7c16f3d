"""GKE's rules of provisioning, each with a violating and a valid stack.

Rules that no settings can break (location policy ANY, no static node count, auto-repair off for flex-start,
NO_RESERVATION for spot, limits by zone or in total but not both, …) are tested on the declared resources, in
tests/unit/components/test_node_pools.py and test_queues.py.
"""

from typing import Any

import pytest

from settings.load import parse, warnings
from tests.unit.settings.builders import FILE, L4, ONLY_L4, put, refusal, using, with_pool
from tests.unit.settings.pools.builders import (
    B200,
    CPU,
    FLEX,
    GB200,
    GPU,
    H4D,
    H100_ALONE,
    H200,
    MORE,
    QUEUED,
    RESERVED,
    SLICES,
    SPOT,
    V6E,
    Rule,
    rule,
)

PROVISIONING = [
    rule(
        "queued: no reservation",
        with_pool({**GPU, **QUEUED, "reservation": "gpus"}),
        with_pool({**GPU, **QUEUED}),
        f"{MORE}.reservation",
        '"gpus"',
        "no reservation: the API refuses queued pools with one, with status 400 (terraform-provider-"
        "google#18341)",
        "remove `reservation`, or write provisioning: reserved",
    ),
    rule(
        "flex-start: no reservation",
        with_pool({**GPU, **FLEX, "reservation": "gpus"}),
        with_pool({**GPU, **FLEX}),
        f"{MORE}.reservation",
        '"gpus"',
        "no reservation: flex-start nodes cannot use one (cluster-toolkit, gke-node-pool; xpk)",
        "remove `reservation`, or write provisioning: reserved",
    ),
    rule(
        "spot: no reservation",
        with_pool({**GPU, **SPOT, "reservation": "gpus"}),
        with_pool({**GPU, **SPOT}),
        f"{MORE}.reservation",
        '"gpus"',
        "no reservation: spot nodes cannot use one (cluster-toolkit, gke-node-pool)",
        "remove `reservation`, or write provisioning: reserved",
    ),
    rule(
        "on-demand: no reservation by name",
        with_pool({**GPU, "reservation": "gpus"}),
        with_pool({**GPU, **RESERVED, "reservation": "projects/acme-shared/reservations/gpus"}),
        f"{MORE}.reservation",
        '"gpus"',
        "no reservation: only `provisioning: reserved` uses one by name",
        "remove `reservation`, or write provisioning: reserved",
    ),
    rule(
        "reserved: by name",
        with_pool({**GPU, "provisioning": "reserved"}),
        with_pool({**GPU, **RESERVED}),
        f"{MORE}.reservation",
        "nothing",
        "the reservation to take nodes from (GKE, SPECIFIC_RESERVATION)",
        "add `reservation: <name>`, or write provisioning: on-demand, which uses open ones",
    ),
    rule(
        "queued: no minimum",
        with_pool({**GPU, **QUEUED, "nodes": {"min": 1, "max": 4}}),
        with_pool({**GPU, **QUEUED, "nodes": {"min": 0, "max": 4}}),
        f"{MORE}.nodes.min",
        "1",
        "0: only ProvisioningRequests add nodes to a queued pool (GKE, queued provisioning)",
        "write 0, or remove `min`",
    ),
    rule(
        "queued: no initial nodes",
        with_pool({**GPU, **QUEUED, "nodes": {"initial": 1, "max": 4}}),
        with_pool({**GPU, **QUEUED, "nodes": {"initial": 0, "max": 4}}),
        f"{MORE}.nodes.initial",
        "1",
        "0: only ProvisioningRequests add nodes to a queued pool (GKE, queued provisioning)",
        "write 0, or remove `initial`",
    ),
    rule(
        "flex-start: no static nodes",
        with_pool({**GPU, **FLEX, "nodes": {"min": 4, "max": 4}}),
        with_pool({**GPU, "nodes": {"min": 4, "max": 4}}),
        f"{MORE}.nodes.min",
        "4",
        "0: flex-start pools have no static nodes (cluster-toolkit, gke-node-pool; xpk)",
        "write 0, or remove `min`",
    ),
    rule(
        "one way of provisioning: neither queued nor flex-start is spot",
        with_pool({**GPU, "provisioning": ["queued", "spot"]}),
        with_pool({**GPU, **QUEUED}),
        f"{MORE}.provisioning",
        '["queued", "spot"]',
        "one of on-demand, spot, reserved, flex-start, queued",
        "choose one of on-demand, spot, reserved, flex-start, queued",
    ),
    rule(
        "queued: no requests for CPUs only",
        with_pool({**CPU, **QUEUED}),
        with_pool({**CPU, **SPOT}),
        f"{MORE}.provisioning",
        '"queued"',
        "on-demand or spot: GKE rejects ProvisioningRequests for pods without accelerators",
        "choose on-demand, or a machine type with GPUs",
    ),
    rule(
        "flex-start: accelerators and h4d",
        with_pool({**CPU, **FLEX}),
        with_pool({**H4D, **FLEX}),
        f"{MORE}.provisioning",
        '"flex-start"',
        "on-demand or spot: flex-start requires GPUs, TPUs or an h4d machine (GKE, flex-start)",
        "choose on-demand, or such a machine type",
    ),
    rule(
        "flexStart: of queued pools only",
        with_pool({**GPU, **SPOT, "flexStart": True}),
        with_pool({**GPU, **QUEUED, "flexStart": True}),
        f"{MORE}.flexStart",
        "true",
        "no value: it applies to queued pools, and this pool is spot",
        "remove it, or write provisioning: queued or flex-start",
    ),
    rule(
        "queued: GKE's own upgrades",
        with_pool({**GPU, **QUEUED, "upgrade": {"maxSurge": 2}}),
        with_pool({**GPU, "upgrade": {"maxSurge": 2}}),
        f"{MORE}.upgrade",
        '{"maxSurge": 2}',
        "no value: GKE upgrades queued pools when their nodes end (GKE, node pool upgrade strategies:"
        " short-lived)",
        "remove `upgrade`",
    ),
    rule(
        "flex-start: GKE's own upgrades",
        with_pool({**GPU, **FLEX, "upgrade": {"strategy": "surge"}}),
        with_pool({**GPU, **SPOT, "upgrade": {"strategy": "blue-green"}}),
        f"{MORE}.upgrade",
        '{"strategy": "surge"}',
        "no value: GKE upgrades flex-start pools when their nodes end (GKE, node pool upgrade "
        "strategies: short-lived)",
        "remove `upgrade`",
    ),
    rule(
        "queued, flex-start: 7 days at most",
        with_pool({**GPU, **FLEX, "maxRunSeconds": 604801}),
        with_pool({**GPU, **FLEX, "maxRunSeconds": 604800}),
        f"{MORE}.maxRunSeconds",
        "604801",
        "at most 604800: flex-start nodes run for up to 7 days (GKE, flex-start)",
        "lower it",
    ),
    rule(
        "one pool that is not queued",
        {**put("muster:pools", 0, None), "muster:queues": ONLY_L4},
        put(*L4, "provisioning", "on-demand"),
        "muster:pools",
        '[{"name": "l4", "machineType": "g2-standard-4", "gpu": {"type": "nvidia-l4", "count": 1}, '
        '"provisioning": "queued", "nodes": {"max": 10}}]',
        "a pool that is not queued, for system pods and Ray heads (GKE, queued provisioning)",
        "add one, such as {name: system, machineType: e2-standard-4, nodes: {min: 1, max: 3}}",
    ),
    rule(
        "small A3 High machines: never on-demand",
        with_pool(H100_ALONE),
        with_pool({**H100_ALONE, **FLEX}),
        f"{MORE}.provisioning",
        "nothing",
        "spot, flex-start or queued: on 2026-11-26 a3-highgpu-1g was offered in no other way (Compute "
        "Engine, consumption options)",
        "choose one of them, or another machine type; muster:machineTypes can correct this fact",
    ),
    rule(
        "A3 Ultra machines: not on demand",
        with_pool({**H200, "provisioning": "on-demand"}),
        with_pool({**H200, **FLEX}),
        f"{MORE}.provisioning",
        '"on-demand"',
        "spot, reserved, flex-start or queued: on 2026-11-26 a3-ultragpu-8g was offered in no other way "
        "(Compute Engine, consumption options)",
        "choose one of them, or another machine type; muster:machineTypes can correct this fact",
    ),
    rule(
        "A4 machines: not on demand",
        with_pool(B200),
        with_pool({**B200, **SPOT}),
        f"{MORE}.provisioning",
        "nothing",
        "spot, reserved, flex-start or queued: on 2026-11-26 a4-highgpu-8g was offered in no other way "
        "(Compute Engine, consumption options)",
        "choose one of them, or another machine type; muster:machineTypes can correct this fact",
    ),
    *(
        rule(
            f"A4X machines: not {way}",
            with_pool({**GB200, "provisioning": way, "reservation": None}),
            with_pool(GB200),
            f"{MORE}.provisioning",
            f'"{way}"',
            "reserved: on 2026-11-26 a4x-highgpu-4g was offered in no other way (Compute Engine, "
            "consumption options)",
            "choose one of them, or another machine type; muster:machineTypes can correct this fact",
        )
        for way in ("on-demand", "spot", "flex-start", "queued")
    ),
]

OLD_FORM = put(*L4, "flexStart", False)["muster:pools"]

VERSIONS = [
    rule(
        "queued flex-start VMs: 1.32.2-gke.1652000",
        with_pool(GPU, version="1.32.2-gke.1651999"),
        with_pool(GPU, version="1.32.2-gke.1652000"),
        "muster:cluster.version",
        '"1.32.2-gke.1651999"',
        "1.32.2-gke.1652000 or later, for flex-start VMs in pool l4 (GKE, flex-start)",
        "raise it, or write flexStart: false for the pool",
    ),
    rule(
        "queued, as before flex-start: any version",
        with_pool({**GPU, **FLEX}, version="1.31")
        | {"muster:pools": [*OLD_FORM, {"name": "more", **GPU, **FLEX}]},
        with_pool(CPU, version="1.31") | {"muster:pools": OLD_FORM},
        "muster:cluster.version",
        '"1.31"',
        "1.32.2-gke.1652000 or later, for flex-start VMs in pool more (GKE, flex-start)",
        "raise it, or choose other provisioning for the pool",
    ),
    rule(
        "flex-start TPUs: 1.33.0-gke.1712000",
        with_pool({**V6E, **FLEX}, version="1.33.0-gke.1711999"),
        with_pool({**V6E, **FLEX}, version="1.33"),
        "muster:cluster.version",
        '"1.33.0-gke.1711999"',
        "1.33.0-gke.1712000 or later, for flex-start TPUs in pool more (GKE, flex-start)",
        "raise it, or choose other provisioning for the pool",
    ),
    rule(
        "DRANET: 1.34.1-gke.1829001",
        with_pool({**H200, "dranet": True}, version="1.34.1-gke.1829000"),
        with_pool({**H200, "dranet": True}, version="1.34.1-gke.1829001"),
        "muster:cluster.version",
        '"1.34.1-gke.1829000"',
        "1.34.1-gke.1829001 or later, for DRANET in pool more (cluster-toolkit, gke-node-pool)",
        "raise it, or remove `dranet`",
    ),
]

OPERATORS = [
    rule(
        "KubeRay: the add-on or the chart, not both",
        put("muster:kuberay", {"install": ["addon", "helm"]}),
        put("muster:kuberay", {"install": "addon"}),
        "muster:kuberay.install",
        '["addon", "helm"]',
        "one of helm, addon, existing",
        "choose one of helm, addon, existing",
    ),
]
RULES = [*PROVISIONING, *VERSIONS, *OPERATORS]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_stack_that_breaks_a_provisioning_rule_is_refused(rule: Rule) -> None:
    assert refusal(rule.broken.config) == rule.broken.message


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_stack_that_keeps_a_provisioning_rule_is_accepted(rule: Rule) -> None:
    assert parse(rule.valid, FILE).pools


def in_tokyo(pool: dict[str, Any]) -> dict[str, Any]:
    """Returns the valid stack with this pool, used, in a zone with L4s and with v6e TPUs for flex-start."""
    return using(with_pool(pool, location="asia-northeast1-b"))


def test_user_is_warned_where_sources_disagree() -> None:
    config = in_tokyo({**SLICES, **QUEUED})
    assert warnings(parse(config, FILE)) == [
        f"{MORE}.provisioning\n"
        '  given:  "queued"\n'
        "  why:    GKE may refuse TPUs with queued provisioning (status 400), although cluster-toolkit "
        "supports them for v6e and TPU7x; if GKE refuses the pool, write flex-start\n"
        "  source: xpk#900, contradicted by cluster-toolkit#5218"
    ]


def test_stack_without_doubts_has_no_warnings() -> None:
    config = in_tokyo({**SLICES, **FLEX})
    assert warnings(parse(config, FILE)) == []
