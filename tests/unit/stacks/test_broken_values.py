"""Stacks with a wrong value, each with the whole message that its author sees."""

import pytest

from stacks.settings import SettingsError, parse
from tests.unit.stacks.builders import FILE, L4, TEAM_A, Case, put

CASES = [
    Case(
        "a cluster name in capitals",
        put("muster:cluster", "name", "Ray"),
        "muster:cluster.name",
        '"Ray"',
        "1 to 40 of a-z, 0-9 and '-', from a letter to a letter or digit (GKE API: Cluster.name)",
        "choose such a name",
    ),
    Case(
        "a location that is none",
        put("muster:cluster", "location", "west"),
        "muster:cluster.location",
        '"west"',
        "a zone such as us-west1-b or a region such as us-west1",
        "choose where the cluster runs",
    ),
    Case(
        "a version too old for mutating policies",
        put("muster:cluster", "version", "1.32"),
        "muster:cluster.version",
        '"1.32"',
        "1.36 or later, the first version that serves MutatingAdmissionPolicy v1, by which "
        "queued Ray objects are suspended",
        'raise it to "1.36"',
    ),
    Case(
        "a version that is a word",
        put("muster:cluster", "version", "latest"),
        "muster:cluster.version",
        '"latest"',
        "a GKE version",
        'write it in quotes, such as "1.36" or "1.36.1-gke.1234000"',
    ),
    Case(
        "a channel misspelt",
        put("muster:cluster", "channel", "regulr"),
        "muster:cluster.channel",
        '"regulr"',
        "one of rapid, regular, stable, extended",
        "did you mean regular?",
    ),
    Case(
        "a pool name that GKE refuses",
        put(*L4, "name", "L4_pool"),
        "muster:pools[1].name",
        '"L4_pool"',
        "1 to 36 of a-z, 0-9 and '-', from a letter to a letter or digit (GKE API: NodePool.name)",
        "choose such a name",
    ),
    Case(
        "an unknown machine type",
        put(*L4, "machineType", "g2-standard-5"),
        "muster:pools[1].machineType",
        '"g2-standard-5"',
        "a machine type of the table in stacks/machines.py, where new ones can be added",
        "did you mean g2-standard-8?",
    ),
    Case(
        "an unknown engine",
        put("muster:admission", "engine", "kue"),
        "muster:admission.engine",
        '"kue"',
        "one of muster, kueue",
        "did you mean kueue?",
    ),
    Case(
        "an unknown way to install KubeRay",
        put("muster:kuberay", {"install": "addons"}),
        "muster:kuberay.install",
        '"addons"',
        "one of helm, addon, existing",
        "did you mean addon?",
    ),
    Case(
        "half a version",
        put("muster:kueue", {"version": "v0.19"}),
        "muster:kueue.version",
        '"v0.19"',
        "a whole version without 'v'",
        "pin one release by all three numbers, as in 1.6.2",
    ),
    Case(
        "a priority in words",
        put("muster:admission", "priorities", "prod-priority", "high"),
        "muster:admission.priorities.prod-priority",
        '"high"',
        "a whole number",
        "write it without quotes",
    ),
    Case(
        "a priority beyond 32 bits",
        put("muster:admission", "priorities", "prod-priority", 2**31),
        "muster:admission.priorities.prod-priority",
        "2147483648",
        "2147483647 or less",
        "lower it",
    ),
    Case(
        "a request that lives longer than 7 days",
        put("muster:admission", "queuedProvisioning", {"maxRunSeconds": 604801}),
        "muster:admission.queuedProvisioning.maxRunSeconds",
        "604801",
        "604800 or less",
        "lower it",
    ),
    Case(
        "less than no retries",
        put("muster:admission", "queuedProvisioning", {"retry": {"limit": -1}}),
        "muster:admission.queuedProvisioning.retry.limit",
        "-1",
        "0 or more",
        "raise it",
    ),
    Case(
        "an image that is not pinned",
        put("muster:controller", "image", "muster/controller:latest"),
        "muster:controller.image",
        '"muster/controller:latest"',
        "an image pinned by digest or by a tag other than latest",
        "write repository@sha256:… (or repository:1.2.3)",
    ),
    Case(
        "a quantity with a blank",
        put(*TEAM_A, "quotas", "cpu", "memory", "32 GB"),
        "muster:queues.clusterQueues[0].quotas.cpu.memory",
        '"32 GB"',
        "a Kubernetes quantity",
        'write a number with an optional unit, such as 4, "500m" or "16Gi"',
    ),
    Case(
        "a quota below zero",
        put(*TEAM_A, "quotas", "l4", "nvidia.com/gpu", -1),
        'muster:queues.clusterQueues[0].quotas.l4["nvidia.com/gpu"]',
        "-1",
        "a quantity of 0 or more",
        "quotas can't be negative; write 0 to give none",
    ),
    Case(
        "a resource name with a blank",
        put(*TEAM_A, "quotas", "cpu", "c pu", 1),
        'muster:queues.clusterQueues[0].quotas.cpu["c pu"]',
        '"c pu"',
        "a resource's name",
        "write cpu, memory or the device plugin's name, such as nvidia.com/gpu",
    ),
    Case(
        "a preemption policy of the wrong field",
        put(*TEAM_A, "preemption", "withinClusterQueue", "Any"),
        "muster:queues.clusterQueues[0].preemption.withinClusterQueue",
        '"Any"',
        "one of Never, LowerPriority, LowerOrNewerEqualPriority",
        "choose one of Never, LowerPriority, LowerOrNewerEqualPriority",
    ),
    Case(
        "a strategy misspelt",
        put(*TEAM_A, "strategy", "StrictFifo"),
        "muster:queues.clusterQueues[0].strategy",
        '"StrictFifo"',
        "one of StrictFIFO, BestEffortFIFO",
        "did you mean StrictFIFO?",
    ),
    Case(
        "a namespace that is no DNS label",
        put("muster:tenants", 0, "namespace", "Team_A"),
        "muster:tenants[0].namespace",
        '"Team_A"',
        "a DNS label: 1 to 63 of a-z, 0-9 and '-', no '-' at either end (RFC 1123)",
        "choose such a name",
    ),
    Case(
        "a local queue name that is none",
        put("muster:tenants", 0, "queues", {"User_Queue": "team-a"}),
        "muster:tenants[0].queues.User_Queue",
        '"User_Queue"',
        "an object name: up to 253 of a-z, 0-9, '-' and '.', no '-' or '.' at either end (RFC 1123)",
        "choose such a name",
    ),
    Case(
        "a tenant without queues",
        put("muster:tenants", 0, "queues", {}),
        "muster:tenants[0].queues",
        "{}",
        "at least one entry",
        "add one",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_message(case: Case) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(case.config, FILE)

    assert str(refused.value) == case.message
