"""Faults that the comparison of the field fuzzer reports."""

from typing import Any

import pytest

from tests.field_fuzzing.accounts import KINDS, Existing, Object, faults, pod_requests

GANG = {"kind": "RayJob", "name": "job", "uid": "job", "controller": True}
UID = {"muster.dev/workload-uid": "workload"}


def named(name: str, owner: dict[str, Any] | None = None, **body: Any) -> Object:
    owners = {"ownerReferences": [owner]} if owner else {}
    labels = {"labels": body.pop("labels")} if "labels" in body else {}
    return {"metadata": {"name": name, "uid": name, **owners, **labels}, **body}


def workload(*, cpu: str = "") -> Object:
    assigned = [{"name": "head", "resourceUsage": {"cpu": cpu}}]
    return named("workload", GANG, status={"admission": {"podSetAssignments": assigned}} if cpu else {})


def pod(cpu: str, phase: str = "Running", **options: Any) -> Object:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    return named("pod", spec={"containers": [container]}, status={"phase": phase}, **options)


def service(labels: dict[str, str] | None = None, **spec: Any) -> Object:
    owner = {"kind": "RayCluster", "name": "cluster", "uid": "cluster", "controller": True}
    body = {"type": "ClusterIP", "selector": {"ray.io/cluster": "cluster"}, **spec}
    return named("service", owner, spec=body)


def existing(*, pods: list[Object] | None = None, counted: str = "", **more: list[Object]) -> Existing:
    objects: dict[str, list[Object]] = {kind: [] for kind in KINDS}
    objects |= {"RayJob": [named("job")], "RayCluster": [named("cluster", GANG)], "Pod": pods or [], **more}
    objects["Workload"] = [workload(cpu=counted)]
    return Existing(objects, objects["Workload"])


def gated(pod: Object, gate: str = "muster.dev/growth") -> Object:
    return {**pod, "spec": {**pod["spec"], "schedulingGates": [{"name": gate}]}}


def role(*resources: str) -> Object:
    return named("role", OF_CLUSTER, rules=[{"resources": list(resources)}])


def binding(to: str) -> Object:
    return named("binding", OF_CLUSTER, roleRef={"kind": to, "name": "cluster"})


AUTOSCALED = named("job", spec={"rayClusterSpec": {"enableInTreeAutoscaling": True}})
OF_CLUSTER = {"kind": "RayCluster", "name": "cluster", "uid": "cluster", "controller": True}
CASES: dict[str, tuple[Existing, dict[str, str]]] = {
    "as counted": (existing(pods=[pod("1", labels=UID)], counted="1"), {}),
    "more than counted": (
        existing(pods=[pod("2", labels=UID)], counted="1"),
        {"RayJob/job": "pods of RayJob/job request cpu 2000, counted 1000"},
    ),
    "by owner alone": (
        existing(pods=[pod("2", owner=OF_CLUSTER)], counted="1"),
        {"RayJob/job": "pods of RayJob/job request cpu 2000, counted 1000"},
    ),
    "without an owner, by label": (
        existing(pods=[pod("1", labels=UID), pod("1", labels=UID)], counted="1"),
        {"RayJob/job": "pods of RayJob/job request cpu 2000, counted 1000"},
    ),
    "of nothing": (
        existing(pods=[pod("1")], counted="1"),
        {"": "pods of nothing request cpu 1000, counted 0"},
    ),
    "ended": (existing(pods=[pod("2", "Succeeded", labels=UID)], counted="1"), {}),
    "never admitted": (
        existing(pods=[pod("0", labels=UID)]),
        {"RayJob/job": "Pod pod exists, but RayJob/job was never admitted"},
    ),
    "without quota, behind its gate": (
        existing(pods=[pod("1", labels=UID), gated(pod("1", labels=UID))], counted="1"),
        {},
    ),
    "without quota, behind a gate of the tenant": (
        existing(pods=[pod("1", labels=UID), gated(pod("1", labels=UID), "mine")], counted="1"),
        {"RayJob/job": "pods of RayJob/job request cpu 2000, counted 1000"},
    ),
    "Ray's autoscaler": (
        existing(
            RayJob=[AUTOSCALED],
            Role=[role("pods", "rayclusters")],
            ServiceAccount=[named("a", OF_CLUSTER)],
            RoleBinding=[binding("Role")],
        ),
        {},
    ),
    "an autoscaler with a ClusterRole": (
        existing(RayJob=[AUTOSCALED], RoleBinding=[binding("ClusterRole")]),
        {"RayJob/job": "RoleBinding binding exists"},
    ),
    "an autoscaler with more rights": (
        existing(RayJob=[AUTOSCALED], Role=[role("pods", "secrets")]),
        {"RayJob/job": "Role role exists"},
    ),
    "a Role": (existing(Role=[named("role", OF_CLUSTER)]), {"RayJob/job": "Role role exists"}),
    "a Service": (existing(Service=[service()]), {}),
    "a Service with external IPs": (
        existing(Service=[service(externalIPs=["203.0.113.7"])]),
        {"RayJob/job": "Service service has externalIPs"},
    ),
    "a load balancer": (
        existing(Service=[service(type="LoadBalancer")]),
        {"RayJob/job": "Service service has the type LoadBalancer"},
    ),
    "a Service for other pods": (
        existing(Service=[service(selector={"app": "dns"})]),
        {"RayJob/job": "Service service selects {'app': 'dns'}"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_was_not_counted_or_allowed_is_reported(name: str) -> None:
    objects, reported = CASES[name]
    assert faults(objects, set()) == reported


def test_objects_of_others_are_not_reported() -> None:
    assert faults(existing(Role=[named("role")]), {"role"}) == {}


def container(cpu: str, **more: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}, **more}


SIDECAR = container("1", restartPolicy="Always")
REQUESTS: dict[str, tuple[dict[str, Any], int]] = {
    "containers": ({"containers": [container("1"), container("500m")]}, 1500),
    "a larger init container": ({"containers": [container("1")], "initContainers": [container("3")]}, 3000),
    "a sidecar": ({"containers": [container("1")], "initContainers": [SIDECAR]}, 2000),
    "an init container after a sidecar": (
        {"containers": [container("1")], "initContainers": [SIDECAR, container("3")]},
        4000,
    ),
    "an init container before a sidecar": (
        {"containers": [container("1")], "initContainers": [container("3"), SIDECAR]},
        3000,
    ),
    "of the pod": ({"containers": [container("1")], **container("5")}, 5000),
    "overhead": ({"containers": [container("1")], "overhead": {"cpu": "250m"}}, 1250),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_effective_requests_of_pods(name: str) -> None:
    spec, cpu = REQUESTS[name]
    assert pod_requests(spec)["cpu"] == cpu
