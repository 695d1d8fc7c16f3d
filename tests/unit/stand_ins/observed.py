"""Builders of observed changes for the scenarios' tests."""

from typing import Any

from sandbox.cluster.kinds import Object
from sandbox.scenarios.observations import ObservedChange

NOON = "2030-01-01T12:00:00Z"


def obj(
    name: str, *, uid: str = "", owner: str = "", labels: dict[str, str] | None = None, **fields: Any
) -> Object:
    owners = [{"uid": owner}] if owner else []
    metadata = {"namespace": "t", "name": name, "uid": uid or name, "ownerReferences": owners}
    return {
        "metadata": metadata | {"labels": labels or {}, "creationTimestamp": fields.pop("created", NOON)},
        **fields,
    }


def conditions(**of_type: tuple[str, str]) -> Object:
    """Returns conditions given as type=(status, reason)."""
    rows = [{"type": t, "status": s, "reason": r, "message": f"{t} {r}"} for t, (s, r) in of_type.items()]
    return {"conditions": [row | {"lastTransitionTime": NOON} for row in rows]}


def gang(
    name: str,
    pods: int = 3,
    *,
    gone: bool = False,
    created: str = NOON,
    node: str = "gpu",
    cluster: str = "",
    phase: str = "Running",
) -> list[ObservedChange]:
    """Returns the first `pods` pods of a head and two workers; Pending ones have no node."""
    observations = []
    for index in range(pods):
        limits = {"nvidia.com/gpu": "1"} if index else {"cpu": "1"}
        where = "" if phase == "Pending" else node if index else "system"
        spec = {"nodeName": where, "containers": [{"resources": {"limits": limits}}]}
        labels = {"ray.io/cluster": cluster or f"{name}-abcde"}
        pod = obj(f"{name}-{index}", labels=labels, created=created, spec=spec, status={"phase": phase})
        observations.append(ObservedChange(0, "Pod", pod, gone))
    return observations


def node(name: str, resize_name: str, created: str = NOON, ready: str = "True") -> ObservedChange:
    labels = {"autoscaling.gke.io/provisioning-request": resize_name}
    status = conditions(Ready=(ready, "Kubelet")) | {"capacity": {"nvidia.com/gpu": "1"}}
    return ObservedChange(0, "Node", obj(name, labels=labels, created=created, status=status))


def story(*by_milestone: list[ObservedChange]) -> list[ObservedChange]:
    """Returns the changes of all milestones, one per second."""
    all_changes = [change for changes in by_milestone for change in changes]
    return [
        ObservedChange(float(at), change.kind, change.obj, change.deleted)
        for at, change in enumerate(all_changes)
    ]
