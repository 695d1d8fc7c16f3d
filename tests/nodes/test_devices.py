"""Gangs that claim devices of a real driver (dra-example-driver): counted, allocated, and refused."""

from __future__ import annotations

from typing import Any

from sandbox.cluster.kinds import Object, condition, is_true
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from sandbox.stack_file import DEVICE, DEVICE_CLASS, DEVICE_QUOTA
from tests.nodes.pods import SECONDS_MAX, created, job, pods_of_job

OTHER_CLASS = "fpga.example.com"
SHOW = ["sh", "-c", "env | grep ^GPU_DEVICE; sleep 600"]


def template(name: str, device_class: str) -> Object:
    """Returns a template of claims for one device of a class."""
    request = {"name": "device", "exactly": {"deviceClassName": device_class}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }


def workload(kubectl: Kubectl, name: str) -> dict[str, Any]:
    """Returns the Workload of a Job; empty before it exists."""
    workloads = kubectl.objects("workloads", "--namespace", "team-a")
    return next((w for w in workloads if w["metadata"]["ownerReferences"][0]["name"] == name), {})


def reserved(kubectl: Kubectl, name: str) -> dict[str, str]:
    """Returns the quota that the Job's pods hold."""
    (assigned,) = workload(kubectl, name)["status"]["admission"]["podSetAssignments"]
    return dict(assigned["resourceUsage"])


def runs(kubectl: Kubectl, name: str) -> bool:
    """Returns whether both pods of the Job run."""
    return [pod["status"]["phase"] for pod in pods_of_job(kubectl, name)] == ["Running"] * 2


def why(kubectl: Kubectl, name: str) -> tuple[str, str]:
    """Returns the reason and the message with which the Job waits."""
    waits = condition(workload(kubectl, name), "QuotaReserved")
    return waits.get("reason", ""), waits.get("message", "")


def test_claimed_devices_are_counted_allocated_and_bounded(kubectl: Kubectl) -> None:
    assert DEVICE_QUOTA == 3, "one Job of two fits, and not two of them"
    first, second = (job(name, pods=2, command=SHOW, claim="one-gpu") for name in ("claims-1", "claims-2"))
    with created(kubectl, [template("one-gpu", DEVICE_CLASS)]), created(kubectl, [first]):
        wait_until("claims-1 running", lambda: runs(kubectl, "claims-1"), SECONDS_MAX, pause_seconds=0.5)
        assert reserved(kubectl, "claims-1")[DEVICE] == "2"
        claims = kubectl.objects("resourceclaims", "--namespace", "team-a")
        assert len(claims) == 2
        for claim in claims:
            (device,) = claim["status"]["allocation"]["devices"]["results"]
            assert device["driver"] == DEVICE_CLASS
        for pod in pods_of_job(kubectl, "claims-1"):
            assert "GPU_DEVICE" in kubectl.run("logs", pod["metadata"]["name"], "-n", "team-a")
        with created(kubectl, [second]):
            wait_until("a reason of claims-2", lambda: DEVICE in why(kubectl, "claims-2")[1], SECONDS_MAX)
            assert pods_of_job(kubectl, "claims-2") == []
            kubectl.run("delete", "job", "claims-1", "-n", "team-a", timeout_seconds=SECONDS_MAX)
            wait_until("claims-2 running", lambda: runs(kubectl, "claims-2"), SECONDS_MAX)


def test_devices_of_a_class_without_quota_are_refused_by_name(kubectl: Kubectl) -> None:
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": OTHER_CLASS},
        "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DEVICE_CLASS}'"}}]},
    }
    claimer = job("claims-other", pods=1, command=SHOW, claim="one-fpga")
    with created(kubectl, [device_class, template("one-fpga", OTHER_CLASS), claimer]):
        wait_until("a reason", lambda: OTHER_CLASS in why(kubectl, "claims-other")[1], SECONDS_MAX)
        assert why(kubectl, "claims-other")[0] == "Misconfigured"
        assert not is_true(workload(kubectl, "claims-other"), "QuotaReserved")
        assert pods_of_job(kubectl, "claims-other") == []
