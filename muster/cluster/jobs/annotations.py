"""The annotations of a job through which the controller and users communicate."""

from collections.abc import Mapping
from typing import Any

from muster.kube.writes import remove_operation
from muster.objects.meta import ObjectMeta


def removal(metadata: ObjectMeta, name: str) -> tuple[Mapping[str, Any], ...]:
    """Returns the JSON patch operations that remove an annotation. The patch needs the object's resource
    version."""
    if name not in metadata.annotations:
        return ()
    return (remove_operation("/metadata/annotations", name),)
