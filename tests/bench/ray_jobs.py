"""The RayJobs of the loads, each of one small pod, and the queue that they are submitted to."""

from typing import Any

NAMESPACE = QUEUE = "bench"
PRIORITY_CLASS = "dev-priority"


def ray_job(name: str) -> dict[str, Any]:
    head = {
        "rayStartParams": {},
        "template": {
            "spec": {
                "containers": [
                    {
                        "name": "ray-head",
                        "image": "rayproject/ray:2.46.0",
                        "resources": {"requests": {"cpu": "1", "memory": "2Gi"}},
                    }
                ]
            }
        },
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"kueue.x-k8s.io/queue-name": QUEUE, "kueue.x-k8s.io/priority-class": PRIORITY_CLASS},
        },
        "spec": {
            "entrypoint": "python train.py",
            "submissionMode": "HTTPMode",
            "shutdownAfterJobFinishes": True,
            "suspend": True,
            "rayClusterSpec": {"headGroupSpec": head},
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
