"""Builders of pods with statuses as a kubelet writes them (Kubernetes v1.36.3)."""

from typing import Any

from muster.kube import kinds
from muster.objects.meta import rfc3339
from muster.objects.names import WORKLOAD_UID_LABEL
from muster.objects.pod_status import DetailedPod
from tests.unit.controller.builders import NOW_MS, Body, read, stored

IMAGE = "docker.io/rayproject/ray:2.99"


def ago(seconds: float) -> str:
    return rfc3339(NOW_MS - round(1000 * seconds))


def waits(reason: str, message: str = "") -> Body:
    return {"waiting": {"reason": reason, "message": message}}


def runs(for_s: float = 600) -> Body:
    return {"running": {"startedAt": ago(for_s)}}


def ended(code: int, reason: str = "Error", message: str = "", ago_s: float = 60) -> Body:
    times = {"startedAt": ago(ago_s + 5), "finishedAt": ago(ago_s)}
    state = {
        "exitCode": code,
        "reason": reason,
        "message": message,
        "containerID": "containerd://1a",
        **times,
    }
    return {"terminated": state}


def container(state: Body, last: Body | None = None, name: str = "ray-worker", **over: Any) -> Body:
    """The status of a container; `over` goes over its fields."""
    status = {
        "name": name,
        "image": IMAGE,
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "started": False,
    }
    return {**status, "state": state, "lastState": last or {}, **over}


READY = container(runs(), ready=True, started=True)


def condition(kind: str, status: bool, reason: str = "", message: str = "", ago_s: float = 300) -> Body:
    return {
        "type": kind,
        "status": str(status),
        "lastProbeTime": None,
        "lastTransitionTime": ago(ago_s),
        "reason": reason,
        "message": message,
    }


def pod(
    name: str,
    *containers: Body,
    init: tuple[Body, ...] = (),
    conditions: tuple[Body, ...] = (),
    labels: Body | None = None,
    spec: Body | None = None,
    deleted: bool = False,
    **status: Any,
) -> Body:
    """A pod on node n1 that the kubelet accepted ten minutes ago; `status` goes over its status."""
    deletion = {"deletionTimestamp": ago(1)} if deleted else {}
    limits = {"resources": {"limits": {"memory": "2Gi"}}}
    listed: Body = {"nodeName": "n1", "containers": [{"name": "ray-worker", "image": IMAGE, **limits}]}
    scheduled = (
        () if any(c["type"] == "PodScheduled" for c in conditions) else (condition("PodScheduled", True),)
    )
    return stored(
        {
            "metadata": {"name": name, "namespace": "team-a", "labels": labels or {}},
            "spec": {**listed, **(spec or {})},
            "status": {
                "phase": "Running",
                "startTime": ago(600),
                "conditions": [*scheduled, *conditions],
                "initContainerStatuses": list(init),
                "containerStatuses": list(containers),
                **status,
            },
        },
        **deletion,
    )


def labelled(uid: str, name: str = "") -> Body:
    """Labels of a worker of group `gpu` of RayCluster `name`, in the gang of the Workload with this UID."""
    group = {"ray.io/cluster": name, "ray.io/node-type": "worker", "ray.io/group": "gpu"} if name else {}
    return {WORKLOAD_UID_LABEL: uid, **group}


def detailed(body: Body) -> DetailedPod:
    viewed: DetailedPod = read(kinds.DETAILED_PODS, body)
    return viewed
