"""GKE's rules of placement and networks, each with a violating and a valid stack."""

import pytest

from settings.load import parse
from tests.unit.settings.builders import FILE, refusal, with_pool
from tests.unit.settings.pools.builders import (
    COMPACT,
    CPU,
    FLEX,
    GB200,
    GPU,
    H100,
    H100_MEGA,
    H200,
    LONG,
    MORE,
    NO_TENANTS,
    NVLINK,
    QUEUED,
    REGION,
    SLICES,
    UP_TO_4,
    V6E,
    Rule,
    rule,
)

PLACEMENT = [
    rule(
        "queued: compact for TPUs only",
        with_pool({**H200, **QUEUED, **COMPACT}),
        with_pool({**SLICES, **QUEUED, **COMPACT}),
        f"{MORE}.placement",
        '"compact"',
        "no placement: queued provisioning supports compact placement for TPUs only (cluster-toolkit,"
        " gke-node-pool)",
        "remove `placement`",
    ),
    rule(
        "flex-start: compact on a3-ultragpu, a4 and h4d only",
        with_pool({**H100, **FLEX, **COMPACT}),
        with_pool({**H200, **FLEX, **COMPACT}),
        f"{MORE}.placement",
        '"compact"',
        "no placement: flex-start supports compact placement for a3-ultragpu, a4 and h4d machines "
        "only (cluster-toolkit, gke-node-pool)",
        "remove `placement`",
    ),
    rule(
        "compact: in one zone",
        with_pool({**H100, **COMPACT}, **REGION),
        with_pool({**H100, **COMPACT, "zones": ["us-west1-a"]}, **REGION),
        f"{MORE}.zones",
        "nothing",
        "a single zone: compact placement does not span zones (cluster-toolkit, gke-node-pool)",
        "add `zones: [<zone>]`, or remove `placement`",
    ),
    rule(
        "compact: no blue-green upgrades",
        with_pool({**H100, **COMPACT, "upgrade": {"strategy": "blue-green"}}),
        with_pool({**H100, **COMPACT, "upgrade": {"strategy": "surge"}}),
        f"{MORE}.upgrade.strategy",
        '"blue-green"',
        "surge: compact pools do not support blue-green upgrades (cluster-toolkit, gke-node-pool)",
        "write surge, or remove `placement`",
    ),
    rule(
        "NVLink domains: of a4x machines",
        with_pool({**H100, **NVLINK}),
        with_pool({**GB200, **NVLINK}),
        f"{MORE}.placement",
        '"nvlink"',
        "no NVLink domains: a3-highgpu-8g has none, only a4x machines do (cluster-toolkit, gke-node-pool)",
        "remove `placement`",
    ),
    rule(
        "compact placement: not of a4x machines",
        with_pool({**GB200, **COMPACT}),
        with_pool(GB200),
        f"{MORE}.placement",
        '"compact"',
        "no placement: a4x-highgpu-4g does not support it, only n2, h4d, g2, a2, a3, a4 machines and TPU "
        "slices do (cluster-toolkit, gke-node-pool)",
        "remove `placement`",
    ),
    rule(
        "NVLink domains: in one zone",
        with_pool({**GB200, **NVLINK}, **REGION),
        with_pool({**GB200, **NVLINK, "zones": ["us-west1-c"]}, **REGION),
        f"{MORE}.zones",
        "nothing",
        "a single zone: compact placement does not span zones (cluster-toolkit, gke-node-pool)",
        "add `zones: [<zone>]`, or remove `placement`",
    ),
    rule(
        "NVLink domains: the last name is short enough",
        with_pool({**GB200, **NVLINK, "name": LONG}),
        with_pool({**GB200, **NVLINK, "name": LONG[:34]}),
        f"{MORE}.name",
        f'"{LONG}"',
        f"a name with which that of its last node pool, {LONG}-0, has at most 36 characters (GKE API: "
        "NodePool.name)",
        "choose a shorter one",
    ),
    rule(
        "a pool in the cluster's region",
        with_pool({**CPU, "zones": ["us-east1-b"]}),
        with_pool({**CPU, "zones": ["us-west1-a"]}),
        f"{MORE}.zones[0]",
        '"us-east1-b"',
        "a zone of us-west1, where the cluster is (GKE API: NodePool.locations)",
        "choose one, such as us-west1-a",
    ),
]

TPUS = [
    rule(
        "single-host TPUs: no placement",
        with_pool({**V6E, **COMPACT}),
        with_pool(V6E),
        f"{MORE}.placement",
        '"compact"',
        "no placement: single-host TPU slices have one node each (cluster-toolkit, gke-node-pool)",
        "remove `placement`",
    ),
    rule(
        "multi-host TPUs: slices instead of nodes",
        with_pool({"machineType": "ct6e-standard-4t", "tpu": {"topology": "4x4"}, **UP_TO_4}),
        with_pool(SLICES),
        f"{MORE}.nodes",
        '{"max": 4}',
        "slices instead: each slice of this topology takes 4 machines (cluster-toolkit; xpk)",
        "write `slices: {max: …}` instead",
    ),
    rule(
        "multi-host TPUs: slices are required",
        with_pool({"machineType": "ct6e-standard-4t", "tpu": {"topology": "4x4"}}),
        with_pool(SLICES),
        f"{MORE}.slices",
        "nothing",
        "the maximum number of slices",
        "add `slices: {max: …}`",
    ),
    rule(
        "slices: multi-host TPUs only",
        with_pool({"machineType": "ct6e-standard-4t", "tpu": {"topology": "2x2"}, "slices": {"max": 2}}),
        with_pool(V6E),
        f"{MORE}.slices",
        '{"max": 2}',
        "nodes instead: only TPU topologies of several machines have slices (GKE, Plan TPUs)",
        "write `nodes: {max: …}` instead",
    ),
    rule(
        "other pools: nodes are required",
        with_pool({"machineType": "n2-standard-8"}),
        with_pool(CPU),
        f"{MORE}.nodes",
        "nothing",
        "the maximum number of nodes",
        "add `nodes: {max: …}`",
    ),
    rule(
        "TPU slices: in one zone",
        with_pool(SLICES, **REGION),
        with_pool({**SLICES, "zones": ["us-west1-c"]}, **REGION),
        f"{MORE}.zones",
        "nothing",
        "a single zone: the machines of a slice are connected to each other (cluster-toolkit)",
        "add `zones: [<zone>]` with the zone that has these TPUs",
    ),
    rule(
        "TPU slices: the last name is short enough",
        with_pool({**SLICES, "name": LONG}),
        with_pool({**SLICES, "name": LONG[:34]}),
        f"{MORE}.name",
        f'"{LONG}"',
        f"a name with which that of its last node pool, {LONG}-1, has at most"
        " 36 characters (GKE API: NodePool.name)",
        "choose a shorter one",
    ),
    rule(
        "TPUs: on machines with TPU chips",
        with_pool({**CPU, "tpu": {"topology": "2x2"}}),
        with_pool(V6E),
        f"{MORE}.tpu",
        '{"topology": "2x2"}',
        "no TPU: n2-standard-8 has none",
        "remove `tpu`, or choose a ct5lp, ct5p, ct6e or tpu7x machine",
    ),
    rule(
        "TPUs: the topology is required",
        with_pool({"machineType": "ct6e-standard-4t", **UP_TO_4}),
        with_pool(V6E),
        f"{MORE}.tpu",
        "nothing",
        "the topology of the slices of ct6e-standard-4t (GKE, Plan TPUs)",
        "add `tpu: {topology: 2x2}` for single machines, or a larger one for slices",
    ),
    rule(
        "TPUs: a topology of the machine type",
        with_pool({**V6E, "tpu": {"topology": "1x1"}}),
        with_pool({**V6E, "machineType": "ct6e-standard-1t", "tpu": {"topology": "1x1"}}),
        f"{MORE}.tpu.topology",
        '"1x1"',
        "a topology of ct6e-standard-4t, whose machines have 4 chips each: 2x2 or a larger one "
        "(GKE, Plan TPUs; xpk)",
        "choose one of its TPU version, or another machine type",
    ),
]

NETWORKS = [
    rule(
        "DRANET: on a3, a4, a4x, ct6e and tpu7x",
        with_pool({**GPU, "dranet": True}),
        with_pool({**V6E, "dranet": True}),
        f"{MORE}.dranet",
        "true",
        "no DRANET: it requires a3, a4, a4x, ct6e or tpu7x machines (cluster-toolkit, gke-node-pool)",
        "remove `dranet`, or choose such a machine type",
    ),
    rule(
        "DRANET: Dataplane V2",
        with_pool({**H200, "dranet": True}, dataplaneV2=False) | NO_TENANTS,
        with_pool(H200, dataplaneV2=False) | NO_TENANTS,
        "muster:cluster.dataplaneV2",
        "false",
        "true, for DRANET in pool more (cluster-toolkit, gke-node-pool)",
        "remove `dataplaneV2`, or `dranet`",
    ),
    rule(
        "DRANET: not with GPUDirect",
        with_pool({**H100, "dranet": True, "gpudirect": "tcpx"}),
        with_pool({**H100, "dranet": True}),
        f"{MORE}.dranet",
        "true",
        "either dranet or gpudirect: DRANET creates the networks itself (cluster-toolkit)",
        "remove one of them",
    ),
    rule(
        "TCPX: on a3-highgpu-8g",
        with_pool({**H100_MEGA, "gpudirect": "tcpx"}),
        with_pool({**H100, "gpudirect": "tcpx"}),
        f"{MORE}.gpudirect",
        '"tcpx"',
        "no tcpx: it requires a3-highgpu-8g (GKE, GPUDirect)",
        "remove `gpudirect`, or choose that machine type",
    ),
    rule(
        "TCPXO: on a3-megagpu-8g",
        with_pool({**H100, "gpudirect": "tcpxo"}),
        with_pool({**H100_MEGA, "gpudirect": "tcpxo"}),
        f"{MORE}.gpudirect",
        '"tcpxo"',
        "no tcpxo: it requires a3-megagpu-8g (GKE, GPUDirect)",
        "remove `gpudirect`, or choose that machine type",
    ),
    rule(
        "multi-networking: Dataplane V2",
        with_pool({**H100, "gpudirect": "tcpx"}, dataplaneV2=False) | NO_TENANTS,
        with_pool({**H100, "gpudirect": "tcpx"}),
        "muster:cluster.dataplaneV2",
        "false",
        "true: GPUDirect requires multi-networking, which requires Dataplane V2 (GKE)",
        "write true, or remove `gpudirect` from the pools",
    ),
]
RULES = [*PLACEMENT, *TPUS, *NETWORKS]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_stack_that_breaks_a_placement_rule_is_refused(rule: Rule) -> None:
    assert refusal(rule.broken.config) == rule.broken.message


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_stack_that_keeps_a_placement_rule_is_accepted(rule: Rule) -> None:
    assert parse(rule.valid, FILE).pools
