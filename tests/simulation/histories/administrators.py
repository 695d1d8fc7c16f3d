"""Actions of administrators: they change and break quotas, queues, flavors, classes and cohorts."""

from typing import Any

from muster.kube import kinds
from tests.simulation.api import Body, key_of
from tests.simulation.histories.actions import KINDS, Act, Draw
from tests.simulation.manifests import GPU
from tests.simulation.simulation import Simulation

CONFIGURATION = (
    kinds.COHORTS,
    kinds.FLAVORS,
    kinds.PRIORITIES,
    kinds.PROVISIONING_CONFIGS,
    kinds.CHECKS,
    kinds.CLUSTER_QUEUES,
    kinds.LOCAL_QUEUES,
)
BY = "administrator"


def draw_quota(draw: Draw) -> dict[str, Any]:
    return {"queue": draw.random.choice(draw.namespaces), "quota": draw.random.choice(("0", "1", "4", "8"))}


def draw_unreadable(draw: Draw) -> dict[str, Any]:
    return {"queue": draw.random.choice(draw.namespaces), "quota": draw.random.choice(("-5", "1e400"))}


def change_quota(sim: Simulation, queue: str, quota: str) -> None:
    """Sets the nominal quota of the GPUs of flavor l4."""
    groups = sim.api.get(kinds.CLUSTER_QUEUES, queue)["spec"]["resourceGroups"]

    def changed(resource: Body, flavor: str) -> Body:
        hit = (flavor, resource["name"]) == ("l4", GPU)
        return {**resource, "nominalQuota": quota} if hit else resource

    new = [
        {
            **group,
            "flavors": [
                {**f, "resources": [changed(r, f["name"]) for r in f["resources"]]} for f in group["flavors"]
            ],
        }
        for group in groups
    ]
    sim.api.merge_patch(kinds.CLUSTER_QUEUES, queue, {"spec": {"resourceGroups": new}}, BY, False)


def draw_queue(draw: Draw) -> dict[str, Any]:
    return {"queue": draw.random.choice(draw.namespaces)}


def cover_a_resource_twice(sim: Simulation, queue: str) -> None:
    groups = sim.api.get(kinds.CLUSTER_QUEUES, queue)["spec"]["resourceGroups"]
    patch = {"spec": {"resourceGroups": [*groups, groups[0]]}}
    sim.api.merge_patch(kinds.CLUSTER_QUEUES, queue, patch, BY, False)


def draw_stop(draw: Draw) -> dict[str, Any]:
    return {**draw_queue(draw), "policy": draw.random.choice(("Hold", "HoldAndDrain", "None"))}


def stop(sim: Simulation, queue: str, policy: str) -> None:
    sim.api.merge_patch(kinds.CLUSTER_QUEUES, queue, {"spec": {"stopPolicy": policy}}, BY, False)


def draw_move(draw: Draw) -> dict[str, Any]:
    return {**draw_queue(draw), "cohort": draw.random.choice(("ml", "elsewhere", ""))}


def move(sim: Simulation, queue: str, cohort: str) -> None:
    patch = {"spec": {"cohortName": cohort or None}}
    sim.api.merge_patch(kinds.CLUSTER_QUEUES, queue, patch, BY, False)


def draw_value(draw: Draw) -> dict[str, Any]:
    name = draw.random.choice(("dev-priority", "prod-priority"))
    return {"name": name, "value": draw.random.choice((0, 100, 500, 1500))}


def change_value(sim: Simulation, name: str, value: int) -> None:
    sim.api.merge_patch(kinds.PRIORITIES, name, {"value": value}, BY, False)


def draw_configuration(draw: Draw) -> dict[str, Any]:
    kind = draw.random.choice((kinds.CLUSTER_QUEUES, kinds.LOCAL_QUEUES, kinds.FLAVORS, kinds.CHECKS))
    namespace = draw.random.choice(draw.namespaces)
    keys = {
        kinds.CLUSTER_QUEUES: namespace,
        kinds.LOCAL_QUEUES: f"{namespace}/user-queue",
        kinds.FLAVORS: "l4",
        kinds.CHECKS: "queued-provisioning",
    }
    return {"kind": kind.name, "key": keys[kind]}


def delete(sim: Simulation, kind: str, key: str) -> None:
    sim.api.delete(KINDS[kind], key, BY)


def restore(sim: Simulation) -> None:
    """Restores every object of the stack; if it is being deleted, its spec."""
    for kind in CONFIGURATION:
        for body in sim.stack.get(kind, ()):
            existing = sim.api.find(kind, key_of(body))
            if existing is None:
                sim.api.create(kind, body, BY)
            else:
                fields = {k: v for k, v in body.items() if k != "metadata"}
                gone = {k: None for k in existing.get("spec", {}) if k not in body.get("spec", {})}
                patch = {**fields, "spec": {**gone, **fields["spec"]}} if "spec" in fields else fields
                sim.api.merge_patch(kind, key_of(body), patch, BY, False)


QUOTAS = {"change-quota": Act(3, draw_quota, change_quota), "stop-queue": Act(1, draw_stop, stop)}
UNREADABLE = {
    "unreadable-quota": Act(1, draw_unreadable, change_quota),
    "cover-a-resource-twice": Act(1, draw_queue, cover_a_resource_twice),
}
CONFIGURATION_DELETED = {"delete-configuration": Act(2, draw_configuration, delete)}
RESTORED = {"restore": Act(2, lambda draw: {}, restore)}
COHORTS = {"move-queue": Act(1, draw_move, move)}
CLASSES = {"change-value": Act(1, draw_value, change_value)}
