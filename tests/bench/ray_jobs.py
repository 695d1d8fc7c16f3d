"""The RayJobs and RayClusters of the loads, of small pods, and the queue that they are submitted to."""

from typing import Any

NAMESPACE = QUEUE = "bench"
PRIORITY_CLASS = "dev-priority"
GROUP = "workers"


def _group(container: str, **more: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": "1", "memory": "2Gi"}}
    containers = [{"name": container, "image": "rayproject/ray:2.46.0", "resources": resources}]
    return {"rayStartParams": {}, "template": {"spec": {"containers": containers}}, **more}


def _metadata(name: str) -> dict[str, Any]:
    labels = {"kueue.x-k8s.io/queue-name": QUEUE, "kueue.x-k8s.io/priority-class": PRIORITY_CLASS}
    return {"name": name, "namespace": NAMESPACE, "labels": labels}


def ray_cluster(name: str, workers: int, most: int) -> dict[str, Any]:
    """Returns an autoscaled RayCluster that asks for this many workers, at least one, and at most `most`."""
    sizes = {"replicas": workers, "minReplicas": 1, "maxReplicas": most}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": _metadata(name),
        "spec": {
            "enableInTreeAutoscaling": True,
            "headGroupSpec": _group("ray-head"),
            "workerGroupSpecs": [_group("ray-worker", groupName=GROUP, **sizes)],
        },
    }


def ray_job(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": _metadata(name),
        "spec": {
            "entrypoint": "python train.py",
            "submissionMode": "HTTPMode",
            "shutdownAfterJobFinishes": True,
            "suspend": True,
            "rayClusterSpec": {"headGroupSpec": _group("ray-head")},
        },
    }


def queue_objects(jobs: int) -> list[dict[str, Any]]:
    """Returns a namespace and its queue, with quota for this many jobs at the same time."""
    version = "kueue.x-k8s.io/v1beta2"
    quotas = [
        {"name": "cpu", "nominalQuota": str(jobs)},
        {"name": "memory", "nominalQuota": f"{2 * jobs}Gi"},
    ]
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "cpu", "resources": quotas}]}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": version,
            "kind": "ClusterQueue",
            "metadata": {"name": QUEUE},
            "spec": {"namespaceSelector": {}, "resourceGroups": [group]},
        },
        {
            "apiVersion": version,
            "kind": "LocalQueue",
            "metadata": {"name": QUEUE, "namespace": NAMESPACE},
            "spec": {"clusterQueue": QUEUE},
        },
    ]
