"""Stacks with unknown or missing keys or values of a wrong type, each with its error message."""

import pytest

from tests.unit.settings.builders import EXISTING, L4, Case, put, refusal

CASES = [
    Case(
        "an unknown section",
        put("muster:pool", []),
        "muster:pool",
        "[]",
        "a known key: gcp:project, muster:admission, muster:cluster, muster:controller, muster:environment, "
        "muster:forecast, muster:gpuOperator, muster:gpudirect, muster:jobset, muster:kai, muster:kuberay, "
        "muster:kueue, muster:lws, muster:machineTypes, muster:network, muster:observability, "
        "muster:pools, muster:queues, muster:split, muster:tenants",
        "did you mean muster:pools?",
    ),
    Case(
        "an unknown key of a pool's GPU",
        put(*L4, "gpu", "tipe", "nvidia-l4"),
        "muster:pools[1].gpu.tipe",
        '"nvidia-l4"',
        "a known key: count, driver, partition, sharing, type",
        "did you mean type?",
    ),
    Case(
        "an unknown key of an existing GKE cluster",
        put("muster:cluster", {**EXISTING, "gke": {"location": "us-west1", "zone": "us-west1-b"}}),
        "muster:cluster.gke.zone",
        '"us-west1-b"',
        "a known key: deletionProtection, enableApis, labels, location, zones",
        "did you mean zones?",
    ),
    Case(
        "an unknown key of a GKE cluster",
        put("muster:cluster", "zone", "us-west1-b"),
        "muster:cluster.zone",
        '"us-west1-b"',
        "a known key: additionalPodsRanges, anonymousAuthentication, authorizedNetworks, autopilot, "
        "autoscalingProfile, backup, binaryAuthorization, bootDiskKmsKey, "
        "channel, costManagement, csiDrivers, dataplaneV2, deletionProtection, dns, dnsEndpoint, "
        "dynamicResourceAllocation, enableApis, fleet, gatewayApi, hostRoles, intranodeVisibility, "
        "kind, labels, location, logs, maintenance, managedPrometheus, metrics, name, network, "
        "nodeAutoProvisioning, notifications, podsRange, privateNodes, publicEndpoint, "
        "resourceManagerTags, "
        "secretManager, secretsEncryption, securityGroup, securityPosture, servicesRange, "
        "sliceController, subnetwork, "
        "version, "
        "verticalPodAutoscaling, zones",
        "did you mean zones?",
    ),
    Case(
        "a missing section",
        put("muster:queues", None),
        "muster:queues",
        "nothing",
        "a value: this key is required",
        "add `muster:queues`",
    ),
    Case(
        "a missing key",
        put(*L4, "machineType", None),
        "muster:pools[1].machineType",
        "nothing",
        "a value: this key is required",
        "add `machineType`",
    ),
    Case(
        "text for a number",
        put(*L4, "nodes", "max", "10"),
        "muster:pools[1].nodes.max",
        '"10"',
        "a whole number",
        "write it without quotes",
    ),
    Case(
        "a fraction of a node",
        put(*L4, "nodes", "max", 1.5),
        "muster:pools[1].nodes.max",
        "1.5",
        "a whole number",
        "write it without quotes",
    ),
    Case(
        "a maximum of no nodes",
        put(*L4, "nodes", "max", 0),
        "muster:pools[1].nodes.max",
        "0",
        "1 or more",
        "raise it",
    ),
    Case(
        "a word for a boolean",
        put("muster:cluster", "deletionProtection", "yes"),
        "muster:cluster.deletionProtection",
        '"yes"',
        "true or false",
        "write one of them, without quotes",
    ),
    Case(
        "a number for text",
        put("gcp:project", 123),
        "gcp:project",
        "123",
        "text",
        "put it in quotes",
    ),
    Case(
        "a mapping for a list",
        put("muster:pools", {"name": "system"}),
        "muster:pools",
        '{"name": "system"}',
        "a list",
        "begin each entry with `-`",
    ),
    Case(
        "text for a section",
        put("muster:cluster", "existing"),
        "muster:cluster",
        '"existing"',
        "a mapping",
        "write `key: value` lines under it",
    ),
    Case(
        "an unknown kind of cluster",
        put("muster:cluster", "kind", "gk"),
        "muster:cluster.kind",
        '"gk"',
        "one of gke, existing",
        "did you mean gke?",
    ),
    Case(
        "a cluster without a kind",
        put("muster:cluster", "kind", None),
        "muster:cluster.kind",
        "nothing",
        "a value: this key is required",
        "add `kind`",
    ),
    Case(
        "no pools",
        put("muster:pools", []),
        "muster:pools",
        "[]",
        "at least one entry",
        "add one",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_malformed_stacks_are_refused(case: Case) -> None:
    assert refusal(case.config) == case.message
