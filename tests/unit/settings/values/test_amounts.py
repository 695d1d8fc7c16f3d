"""Stacks with amounts of another unit than was meant, and bounds that exclude each other."""

from typing import Any

import pytest

from tests.unit.settings.builders import GOOD, TEAM_A, Case, put, refusal


def with_cluster(**keys: Any) -> dict[str, Any]:
    return put("muster:cluster", {**GOOD["muster:cluster"], **keys})


def tenant(**keys: Any) -> dict[str, Any]:
    return put("muster:tenants", 0, {**GOOD["muster:tenants"][0], **keys})


CPU_QUOTAS = (*TEAM_A, "quotas", "cpu")
A_LABEL_OF_TEAM_A = (
    "a label of team-a, the namespace of a tenant: kubernetes.io/metadata.name: team-a, "
    "muster.dev/tenant: true, pod-security.kubernetes.io/enforce: baseline, "
    "pod-security.kubernetes.io/audit: baseline, pod-security.kubernetes.io/warn: baseline, "
    "muster.dev/claims: none (Kueue: namespaceSelector)"
)
CHOOSE_A_LABEL = (
    "choose one of kubernetes.io/metadata.name, muster.dev/tenant, "
    "pod-security.kubernetes.io/enforce, pod-security.kubernetes.io/audit, "
    "pod-security.kubernetes.io/warn, muster.dev/claims"
)

CASES = [
    Case(
        "a quota of memory without a unit",
        put(*CPU_QUOTAS, "memory", 64),
        "muster:queues.clusterQueues[0].quotas.cpu.memory",
        "64",
        "an amount of bytes, at least 1Mi; 64 is 64 bytes (Kubernetes, resource units)",
        "did you mean 64Mi or 64Gi?",
    ),
    Case(
        "a quota of half a byte",
        put(*CPU_QUOTAS, "memory", "500m"),
        "muster:queues.clusterQueues[0].quotas.cpu.memory",
        '"500m"',
        "an amount of bytes, at least 1Mi; 500m is 0.5 bytes (Kubernetes, resource units)",
        "did you mean 500Mi or 500Gi?",
    ),
    Case(
        "a quota of kilobytes",
        put(*CPU_QUOTAS, "memory", "64k"),
        "muster:queues.clusterQueues[0].quotas.cpu.memory",
        '"64k"',
        "an amount of bytes, at least 1Mi; 64k is 64000 bytes (Kubernetes, resource units)",
        "did you mean 64Mi or 64Gi?",
    ),
    Case(
        "a borrowing limit of memory without a unit",
        put(*CPU_QUOTAS, "memory", {"nominal": "32Gi", "borrowingLimit": 8}),
        "muster:queues.clusterQueues[0].quotas.cpu.memory.borrowingLimit",
        "8",
        "an amount of bytes, at least 1Mi; 8 is 8 bytes (Kubernetes, resource units)",
        "did you mean 8Mi or 8Gi?",
    ),
    Case(
        "a quota of cores with a unit",
        put(*CPU_QUOTAS, "cpu", {"nominal": 8, "borrowingLimit": "4Gi"}),
        "muster:queues.clusterQueues[0].quotas.cpu.cpu.borrowingLimit",
        '"4Gi"',
        "cores without a unit, or thousandths of a core (Kubernetes, resource units)",
        'write a number, such as 4 or "500m"',
    ),
    Case(
        "half a GPU",
        put(*TEAM_A, "quotas", "l4", "nvidia.com/gpu", "500m"),
        'muster:queues.clusterQueues[0].quotas.l4["nvidia.com/gpu"]',
        '"500m"',
        "a whole number: devices and objects cannot be divided (Kubernetes, extended resources)",
        "write a whole number; `gpu.sharing` lets several containers use one GPU",
    ),
    Case(
        "more GPUs than the pool has",
        put(*TEAM_A, "quotas", "l4", "nvidia.com/gpu", 100),
        'muster:queues.clusterQueues[0].quotas.l4["nvidia.com/gpu"]',
        "100",
        "at most 10 of nvidia.com/gpu in all quotas of flavor l4, which grant 100: the nodes of pool l4, 10 "
        "at most, have no more for queues (GKE, plan node sizes)",
        "lower the quotas, or give the pool more or larger nodes",
    ),
    Case(
        "no GPUs of a pool of GPUs",
        put(*TEAM_A, "quotas", "l4", {"cpu": 16}),
        'muster:queues.clusterQueues[0].quotas.l4["nvidia.com/gpu"]',
        "nothing",
        "a quota of the accelerators of pool l4, as its nodes are not used without it (Kueue: "
        "resourceGroups)",
        "add `nvidia.com/gpu`, or remove the flavor from this queue",
    ),
    Case(
        "a flavor without resources",
        put(*TEAM_A, "quotas", "l4", {}),
        "muster:queues.clusterQueues[0].quotas.l4",
        "{}",
        "at least one entry",
        "add one",
    ),
    Case(
        "a default limit of memory without a unit",
        tenant(limits={"default": {"memory": 4}}),
        "muster:tenants[0].limits.default.memory",
        "4",
        "an amount of bytes, at least 1Mi; 4 is 4 bytes (Kubernetes, resource units)",
        "did you mean 4Mi or 4Gi?",
    ),
    Case(
        "a bound of a resource misspelt",
        tenant(limits={"default": {"memry": "4Gi"}}),
        "muster:tenants[0].limits.default.memry",
        '"memry"',
        "a resource: cpu, memory, ephemeral-storage, pods or one of a vendor, such as nvidia.com/gpu",
        "did you mean memory?",
    ),
    Case(
        "a hard limit of memory without a unit",
        tenant(resourceQuota={"limits.memory": 640}),
        'muster:tenants[0].resourceQuota["limits.memory"]',
        "640",
        "an amount of bytes, at least 1Mi; 640 is 640 bytes (Kubernetes, resource units)",
        "did you mean 640Mi or 640Gi?",
    ),
    Case(
        "a hard limit of GPUs in the singular",
        tenant(resourceQuota={"request.nvidia.com/gpu": 8}),
        'muster:tenants[0].resourceQuota["request.nvidia.com/gpu"]',
        '"request.nvidia.com/gpu"',
        "a key of a ResourceQuota: requests.… or limits.…, in the plural",
        "did you mean requests.nvidia.com/gpu?",
    ),
    Case(
        "a hard limit of CPU in the singular",
        tenant(resourceQuota={"limit.cpu": 8}),
        'muster:tenants[0].resourceQuota["limit.cpu"]',
        '"limit.cpu"',
        "a key of a ResourceQuota: requests.… or limits.…, in the plural",
        "did you mean limits.cpu?",
    ),
    Case(
        "a hard limit on limits of GPUs",
        tenant(resourceQuota={"limits.nvidia.com/gpu": 8}),
        'muster:tenants[0].resourceQuota["limits.nvidia.com/gpu"]',
        '"limits.nvidia.com/gpu"',
        "requests.…: quotas of extended resources are on requests only (Kubernetes)",
        "write requests.nvidia.com/gpu",
    ),
    Case(
        "a hard limit of GPUs misspelt",
        tenant(resourceQuota={"requests.nvidia.com/gpus": 8}),
        'muster:tenants[0].resourceQuota["requests.nvidia.com/gpus"]',
        "8",
        "a resource that nodes of the stack have: nvidia.com/gpu",
        "did you mean requests.nvidia.com/gpu?",
    ),
    Case(
        "a count of RayJobs without their group",
        tenant(resourceQuota={"count/rayjobs": 8}),
        "muster:tenants[0].resourceQuota.count/rayjobs",
        '"count/rayjobs"',
        "count/ and the plural of a kind with its API group (Kubernetes, object count quota)",
        "did you mean count/rayjobs.ray.io?",
    ),
    Case(
        "a count of RayJobs in the singular",
        tenant(resourceQuota={"count/rayjob.ray.io": 8}),
        'muster:tenants[0].resourceQuota["count/rayjob.ray.io"]',
        '"count/rayjob.ray.io"',
        "count/ and the plural of a kind with its API group (Kubernetes, object count quota)",
        "did you mean count/rayjobs.ray.io?",
    ),
    Case(
        "an operator's memory without a unit",
        put(
            "muster:kuberay",
            {
                "resources": {
                    "requests": {"cpu": 1, "memory": 512},
                    "limits": {"cpu": 1, "memory": "1Gi"},
                },
            },
        ),
        "muster:kuberay.resources.requests.memory",
        "512",
        "an amount of bytes, at least 1Mi; 512 is 512 bytes (Kubernetes, resource units)",
        "did you mean 512Mi or 512Gi?",
    ),
    Case(
        "a first retry after the last one",
        put("muster:admission", "queuedProvisioning", {"retry": {"baseSeconds": 60, "maxSeconds": 30}}),
        "muster:admission.queuedProvisioning.retry",
        '{"baseSeconds": 60, "maxSeconds": 30}',
        "maxSeconds of at least baseSeconds, which is 60",
        "raise `maxSeconds` or lower `baseSeconds`",
    ),
    Case(
        "a first requeuing after the last one",
        put(
            "muster:controller",
            "waitForPodsReady",
            {"timeoutSeconds": 300, "requeuing": {"baseSeconds": 7200}},
        ),
        "muster:controller.waitForPodsReady.requeuing",
        '{"baseSeconds": 7200}',
        "maxSeconds of at least baseSeconds, which is 7200",
        "raise `maxSeconds` or lower `baseSeconds`",
    ),
    Case(
        "a step above the bound of aging",
        put("muster:controller", "rules", {"aging": {"step": 10, "periodSeconds": 60, "max": 5}}),
        "muster:controller.rules.aging",
        '{"step": 10, "periodSeconds": 60, "max": 5}',
        "max of at least step, which is 10",
        "raise `max` or lower `step`",
    ),
    Case(
        "a burst below the average",
        put("muster:kuberay", {"client": {"qps": 200, "burst": 100}}),
        "muster:kuberay.client",
        '{"qps": 200, "burst": 100}',
        "burst of at least qps, which is 200",
        "raise `burst` or lower `qps`",
    ),
    Case(
        "a version of Kueue without v1beta2",
        put("muster:kueue", {"version": "0.13.1"}),
        "muster:kueue.version",
        '"0.13.1"',
        "0.15.0 or later, the first version that serves v1beta2 of its API (Kueue, CHANGELOG-0.15)",
        "raise it, or remove it for 0.19.2",
    ),
    Case(
        "a version of KubeRay that suspends nothing",
        put("muster:kuberay", {"version": "0.6.2"}),
        "muster:kuberay.version",
        '"0.6.2"',
        "1.1.0 or later, the first version that suspends RayClusters (KubeRay)",
        "raise it, or remove it for 1.6.2",
    ),
    Case(
        "namespaces by a label that none has",
        put(*TEAM_A, "namespaces", {"team": "a"}),
        "muster:queues.clusterQueues[0].namespaces.team",
        '"a"',
        A_LABEL_OF_TEAM_A,
        CHOOSE_A_LABEL,
    ),
    Case(
        "namespaces by a name misspelt",
        put(*TEAM_A, "namespaces", {"kubernetes.io/metadata.name": "team-aa"}),
        'muster:queues.clusterQueues[0].namespaces["kubernetes.io/metadata.name"]',
        '"team-aa"',
        A_LABEL_OF_TEAM_A,
        "write team-a",
    ),
    Case(
        "namespaces without the tenants of the queue",
        put(*TEAM_A, "namespaces", {"muster.dev/queue-required": "true"}),
        'muster:queues.clusterQueues[0].namespaces["muster.dev/queue-required"]',
        '"true"',
        A_LABEL_OF_TEAM_A,
        CHOOSE_A_LABEL,
    ),
    Case(
        "an address twice",
        put("muster:observability", {"notify": {"emails": ["ml@example.com", "ml@example.com"]}}),
        "muster:observability.notify.emails[1]",
        '"ml@example.com"',
        "each value once",
        "remove all but the intended one",
    ),
    Case(
        "half of the internet",
        with_cluster(authorizedNetworks={"office": "128.0.0.0/1"}),
        "muster:cluster.authorizedNetworks.office",
        '"128.0.0.0/1"',
        "a network smaller than the whole internet (CIS GKE 5.6.3)",
        "write your networks, or remove it: the DNS endpoint serves any network and uses IAM",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mistaken_amounts_and_bounds_are_refused(case: Case) -> None:
    assert refusal(case.config) == case.message
