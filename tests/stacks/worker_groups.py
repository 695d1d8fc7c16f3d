"""Worker groups of RayClusters to create."""

from typing import Any

WORKER = {"spec": {"containers": [{"name": "worker", "image": "ray", "resources": {"requests": {"cpu": 1}}}]}}


def group(name: str, **sizes: int) -> dict[str, Any]:
    fields = {"replicas": 1, "minReplicas": 1, "maxReplicas": 1, **sizes}
    return {"groupName": name, "rayStartParams": {}, "template": WORKER, **fields}
