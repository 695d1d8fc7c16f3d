"""The annotations of a job that the controller and its user write to each other."""

from collections.abc import Mapping
from typing import Any

from muster.objects.meta import ObjectMeta

WAIT = "muster.dev/wait"
"""Written by the controller: why the job waits, as JSON."""


def removal(metadata: ObjectMeta, name: str) -> tuple[Mapping[str, Any], ...]:
    """Returns the operations that remove an annotation, for a JSON patch under the object's resource
    version."""
    if name not in metadata.annotations:
        return ()
    return ({"op": "remove", "path": f"/metadata/annotations/{name.replace('/', '~1')}"},)
