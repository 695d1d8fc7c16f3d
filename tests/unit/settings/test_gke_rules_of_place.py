"""GKE's rules of where nodes are and what joins them, each both ways, as in test_gke_rules.py."""

import pytest

from settings.load import parse
from tests.unit.settings.builders import FILE, refusal, with_pool
from tests.unit.settings.pool_builders import (
    COMPACT,
    CPU,
    FLEX,
    GPU,
    H100,
    H100_MEGA,
    H200,
    LONG,
    MORE,
    NOBODY,
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
        "queued: not compact, but for TPUs",
        with_pool({**H200, **QUEUED, **COMPACT}),
        with_pool({**SLICES, **QUEUED, **COMPACT}),
        f"{MORE}.placement",
        '"compact"',
        "no placement: queued provisioning takes compact placement for TPUs only "
        "(cluster-toolkit, gke-node-pool)",
        "remove `placement`",
    ),
    rule(
        "flex-start: compact on a3-ultragpu, a4 and h4d only",
        with_pool({**H100, **FLEX, **COMPACT}),
        with_pool({**H200, **FLEX, **COMPACT}),
        f"{MORE}.placement",
        '"compact"',
        "no placement: flex-start takes compact placement for a3-ultragpu, a4 and h4d machines only "
        "(cluster-toolkit, gke-node-pool)",
        "remove `placement`",
    ),
    rule(
        "compact: in one zone",
        with_pool({**H100, **COMPACT}, **REGION),
        with_pool({**H100, **COMPACT, "zones": ["us-west1-a"]}, **REGION),
        f"{MORE}.zones",
        "nothing",
        "one zone: nodes are close to each other in one only (cluster-toolkit, gke-node-pool)",
        "add `zones: [<zone>]`, or remove `placement`",
    ),
    rule(
        "compact: no blue-green upgrades",
        with_pool({**H100, **COMPACT, "upgrade": {"strategy": "blue-green"}}),
        with_pool({**H100, **COMPACT, "upgrade": {"strategy": "surge"}}),
        f"{MORE}.upgrade.strategy",
        '"blue-green"',
        "surge: compact pools take no blue-green upgrades (cluster-toolkit, gke-node-pool)",
        "write surge, or remove `placement`",
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
        "TPUs of single machines: no placement",
        with_pool({**V6E, **COMPACT}),
        with_pool(V6E),
        f"{MORE}.placement",
        '"compact"',
        "no placement: single-host TPUs have no others to be close to (cluster-toolkit, gke-node-pool)",
        "remove `placement`",
    ),
    rule(
        "TPU slices: max is the slice",
        with_pool({"machineType": "ct6e-standard-4t", "tpu": {"topology": "4x4"}, **UP_TO_4}),
        with_pool(SLICES),
        f"{MORE}.nodes",
        '{"max": 4}',
        "slices, which come and go whole: this topology takes 4 machines (cluster-toolkit; xpk)",
        "write `slices: {max: …}` in its place",
    ),
    rule(
        "TPU slices: how many",
        with_pool({"machineType": "ct6e-standard-4t", "tpu": {"topology": "4x4"}}),
        with_pool(SLICES),
        f"{MORE}.slices",
        "nothing",
        "how many slices there may be",
        "add `slices: {max: …}`",
    ),
    rule(
        "slices: of several machines",
        with_pool({"machineType": "ct6e-standard-4t", "tpu": {"topology": "2x2"}, "slices": {"max": 2}}),
        with_pool(V6E),
        f"{MORE}.slices",
        '{"max": 2}',
        "nodes: only TPU topologies of several machines make slices (GKE, Plan TPUs)",
        "write `nodes: {max: …}` in its place",
    ),
    rule(
        "other pools: how many nodes",
        with_pool({"machineType": "n2-standard-8"}),
        with_pool(CPU),
        f"{MORE}.nodes",
        "nothing",
        "how many nodes there may be",
        "add `nodes: {max: …}`",
    ),
    rule(
        "TPU slices: in one zone",
        with_pool(SLICES, **REGION),
        with_pool({**SLICES, "zones": ["us-west1-c"]}, **REGION),
        f"{MORE}.zones",
        "nothing",
        "one zone: the machines of a slice are wired to each other (cluster-toolkit)",
        "add `zones: [<zone>]` with the zone that has these TPUs",
    ),
    rule(
        "TPU slices: a name for the last of them",
        with_pool({**SLICES, "name": LONG}),
        with_pool({**SLICES, "name": LONG[:34]}),
        f"{MORE}.name",
        f'"{LONG}"',
        f"a name short enough for that of its last slice, {LONG}-1: 36 characters (GKE API: NodePool.name)",
        "choose a shorter one",
    ),
    rule(
        "TPUs: on machines that carry them",
        with_pool({**CPU, "tpu": {"topology": "2x2"}}),
        with_pool(V6E),
        f"{MORE}.tpu",
        '{"topology": "2x2"}',
        "no TPU: n2-standard-8 carries none",
        "remove `tpu`, or choose a ct5lp, ct5p, ct6e or tpu7x machine",
    ),
    rule(
        "TPUs: in a topology",
        with_pool({"machineType": "ct6e-standard-4t", **UP_TO_4}),
        with_pool(V6E),
        f"{MORE}.tpu",
        "nothing",
        "the topology that ct6e-standard-4t is used in (GKE, Plan TPUs)",
        "add `tpu: {topology: 2x2}` for single machines, or a larger one for slices",
    ),
    rule(
        "TPUs: 4 chips a machine, unless there is only one",
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
        "no DRANET: it is for a3, a4, a4x, ct6e and tpu7x machines (cluster-toolkit, gke-node-pool)",
        "remove `dranet`, or choose such a machine type",
    ),
    rule(
        "DRANET: Dataplane V2",
        with_pool({**H200, "dranet": True}, dataplaneV2=False) | NOBODY,
        with_pool(H200, dataplaneV2=False) | NOBODY,
        "muster:cluster.dataplaneV2",
        "false",
        "true, for DRANET in pool more (cluster-toolkit, gke-node-pool)",
        "remove `dataplaneV2`, or `dranet`",
    ),
    rule(
        "DRANET: no networks of GPUDirect beside",
        with_pool({**H100, "dranet": True, "gpudirect": "tcpx"}),
        with_pool({**H100, "dranet": True}),
        f"{MORE}.dranet",
        "true",
        "one of dranet and gpudirect: DRANET sets up the networks by itself (cluster-toolkit)",
        "remove the other",
    ),
    rule(
        "TCPX: on a3-highgpu-8g",
        with_pool({**H100_MEGA, "gpudirect": "tcpx"}),
        with_pool({**H100, "gpudirect": "tcpx"}),
        f"{MORE}.gpudirect",
        '"tcpx"',
        "no tcpx: it is for a3-highgpu-8g (GKE, GPUDirect)",
        "remove `gpudirect`, or choose that machine type",
    ),
    rule(
        "TCPXO: on a3-megagpu-8g",
        with_pool({**H100, "gpudirect": "tcpxo"}),
        with_pool({**H100_MEGA, "gpudirect": "tcpxo"}),
        f"{MORE}.gpudirect",
        '"tcpxo"',
        "no tcpxo: it is for a3-megagpu-8g (GKE, GPUDirect)",
        "remove `gpudirect`, or choose that machine type",
    ),
    rule(
        "multi-networking: Dataplane V2",
        with_pool({**H100, "gpudirect": "tcpx"}, dataplaneV2=False) | NOBODY,
        with_pool({**H100, "gpudirect": "tcpx"}),
        "muster:cluster.dataplaneV2",
        "false",
        "true: GPUDirect's interfaces need multi-networking, and that Dataplane V2 (GKE)",
        "write true, or remove `gpudirect` from the pools",
    ),
]
RULES = [*PLACEMENT, *TPUS, *NETWORKS]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_stack_that_breaks_it_is_refused(rule: Rule) -> None:
    assert refusal(rule.broken.config) == rule.broken.message


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_stack_that_keeps_it_is_accepted(rule: Rule) -> None:
    assert parse(rule.kept, FILE).pools
