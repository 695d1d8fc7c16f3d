"""Clusters without MutatingAdmissionPolicy: users must suspend queued objects, and the message says it."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from preview.pulumi_cli import PulumiCli
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from tests.stacks.conftest import LOCAL, wait_for_suspension
from tests.stacks.dry_runs import EFFECT_SECONDS_MAX, Manifest
from tests.stacks.job_requests import batch_job, job_set, leader_worker_set
from tests.stacks.ray_requests import (
    ADMIN,
    ALICE,
    child,
    create,
    raycluster,
    rayjob,
    rayservice,
    refusal,
    suspended,
    unqueued,
)

COUNT = "muster.dev/replicas"
KINDS = {
    "RayJob": (rayjob, "spec.suspend"),
    "RayCluster": (raycluster, "spec.suspend"),
    "RayService": (rayservice, "spec.rayClusterConfig.suspend"),
    "Job": (batch_job, "spec.suspend"),
    "JobSet": (job_set, "spec.suspend"),
    "LeaderWorkerSet": (leader_worker_set, "spec.replicas"),
}


def is_refused(server: Kubectl, make: Callable[[], Manifest]) -> bool:
    return refusal(server, ALICE, make()) != ""


@pytest.fixture(scope="module")
def older(
    server: Kubectl, local_cli: PulumiCli, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kubectl]:
    """Deploys stack local as on such a cluster, and restores it afterwards."""
    settings = yaml.safe_load(LOCAL.read_text())
    settings["config"]["muster:cluster"]["servesMutatingPolicies"] = False
    changed: Path = tmp_path_factory.mktemp("older") / LOCAL.name
    changed.write_text(yaml.safe_dump(settings))
    try:
        # Policies that suspend, or check schedules, are deleted; those that require suspension are created.
        assert local_cli.select("local", changed).up().counts.keys() == {"create", "delete"}
        for make, _ in KINDS.values():  # each kind has its own policy
            wait_until("the policies' effect", partial(is_refused, server, make), EFFECT_SECONDS_MAX)
        yield server
    finally:
        local_cli.select("local", LOCAL).up()
        wait_for_suspension(server)


@pytest.mark.parametrize("kind", KINDS)
def test_the_message_asks_for_suspension(older: Kubectl, kind: str) -> None:
    make, path = KINDS[kind]
    fields = f"{path}: true"
    if kind == "LeaderWorkerSet":
        fields = f"{path}: 0 and its number in the annotation {COUNT}"
    assert refusal(older, ALICE, make()) == (
        f"a queued {kind} starts when its queue admits it: create it with {fields} (Kubernetes before "
        "1.36 can't set it for you)"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_suspended_objects_are_accepted(older: Kubectl, kind: str) -> None:
    make, path = KINDS[kind]
    manifest = make()
    spec = manifest["spec"]
    if kind == "LeaderWorkerSet":
        manifest["metadata"]["annotations"] = {COUNT: "2"}
        spec["replicas"] = 0
        assert create(older, ALICE, manifest)["spec"]["replicas"] == 0
        return
    (spec["rayClusterConfig"] if "rayClusterConfig" in path else spec)["suspend"] = True
    assert suspended(create(older, ALICE, manifest))


@pytest.mark.parametrize(("user", "make"), [(ALICE, unqueued), (ADMIN, child)], ids=["unqueued", "KubeRay's"])
def test_unqueued_and_owned_objects_are_not_suspended(
    older: Kubectl, user: tuple[str, ...], make: Callable[[], Manifest]
) -> None:
    assert not suspended(create(older, user, make()))
