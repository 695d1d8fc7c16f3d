"""The annotations of a job that the controller and its user write to each other."""

from collections.abc import Mapping
from typing import Any

from muster.objects.meta import ObjectMeta

STOP = "muster.dev/stop"
"""Written by its user: with "true" the job gives back its quota, and waits until it is removed."""
RETRY = "muster.dev/retry"
"""Written by its user: each new value ends the back-off of the job once."""
WAIT = "muster.dev/wait"
"""Written by the controller: why the job waits, as JSON."""


def removal(metadata: ObjectMeta, name: str) -> tuple[Mapping[str, Any], ...]:
    """Returns the operations that remove an annotation, for a JSON patch under the object's resource
    version."""
    if name not in metadata.annotations:
        return ()
    return ({"op": "remove", "path": f"/metadata/annotations/{name.replace('/', '~1')}"},)
