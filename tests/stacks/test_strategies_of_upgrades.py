"""Upgrade strategies of RayServices: each one but None is refused with what to do instead.

The strategies are those of KubeRay's RayServiceUpgradeType (ray-operator/apis/ray/v1/rayservice_types.go at
v1.6.2); its schema allows any text.
"""

import json
from typing import Any

import msgspec
import pytest

from muster.cluster.jobs.rayservice import UPGRADE_REMEDY, RayServiceGang
from muster.objects.ray import RayService
from sandbox.cluster.kubectl import Kubectl
from tests.stacks.dry_runs import Manifest, Target
from tests.stacks.ray_requests import ALICE, create, rayservice, refusal, refused_patch

IN_PLACE = {"type": "None"}
OPTIONS = {"gatewayClassName": "external", "intervalSeconds": 1, "stepSizePercent": 1}
INCREMENTAL = {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": OPTIONS}
WITH_A_SECOND_CLUSTER: dict[str, dict[str, Any] | None] = {
    "none is set": None,
    "a new cluster": {"type": "NewCluster"},
    "a new cluster, step by step, without options": {"type": INCREMENTAL["type"]},
    "another text": {"type": "Recreate"},
}


def upgraded_by(strategy: dict[str, Any] | None, name: str = "new") -> Manifest:
    service = rayservice(name)
    if strategy is not None:
        service["spec"]["upgradeStrategy"] = strategy
    return service


def why_it_waits(manifest: Manifest) -> str | None:
    """Returns the message of its reason Misconfigured."""
    return RayServiceGang(msgspec.json.decode(json.dumps(manifest), type=RayService)).ineligibility


@pytest.mark.parametrize("name", WITH_A_SECOND_CLUSTER)
def test_a_service_with_a_second_cluster_waits_and_says_what_to_do(server: Kubectl, name: str) -> None:
    service = create(server, ALICE, upgraded_by(WITH_A_SECOND_CLUSTER[name]))
    assert UPGRADE_REMEDY in (why_it_waits(service) or "")


def test_a_service_upgraded_in_place_does_not_wait(server: Kubectl) -> None:
    assert why_it_waits(create(server, ALICE, upgraded_by(IN_PLACE))) is None


def test_an_upgrade_step_by_step_is_refused_with_what_to_do(server: Kubectl) -> None:
    error = refusal(server, ALICE, upgraded_by(INCREMENTAL))
    assert "a second cluster, for which a queue has no quota: remove spec.upgradeStrategy" in error
    assert UPGRADE_REMEDY in error


@pytest.mark.parametrize("name", ["a new cluster", "a new cluster, step by step, without options"])
def test_a_change_to_a_second_cluster_is_refused_with_what_to_do(server: Kubectl, name: str) -> None:
    service = f"strategy-{len(name)}"
    server.run("create", "-f", "-", *ALICE, stdin=json.dumps(upgraded_by(IN_PLACE, service)))
    target = Target("ray.io/v1", "RayService", service, "team-a")
    error = refused_patch(server, ALICE, target, {"spec": {"upgradeStrategy": WITH_A_SECOND_CLUSTER[name]}})
    assert UPGRADE_REMEDY in error


def test_a_waiting_service_can_follow_the_advice(server: Kubectl) -> None:
    server.run("create", "-f", "-", *ALICE, stdin=json.dumps(upgraded_by(None, "strategy-default")))
    target = Target("ray.io/v1", "RayService", "strategy-default", "team-a")
    assert refused_patch(server, ALICE, target, {"spec": {"upgradeStrategy": IN_PLACE}}) == ""
