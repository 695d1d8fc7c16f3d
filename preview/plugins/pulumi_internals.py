"""The only module with private names of Pulumi's SDK for Python (tests/unit/packaging/test_internals.py).

It skips work that the SDK does for each resource and that a plan does not need, most of the time of a large
program. The plans are the same: tests compare them with golden plans.
"""

import weakref

import pulumi
from pulumi.automation._server import LanguageServer
from pulumi.runtime import resource, resource_cycle_breaker, rpc
from pulumi.runtime.proto import source_pb2

__all__ = ["Dependencies", "LanguageServer", "skip_work"]


def skip_work() -> None:
    """Replaces functions of the SDK in this process."""
    # The SDK waits until the engine has received each debug message, some ten per resource. The engine shows
    # them with `--debug` only.
    pulumi.log.debug = lambda *_args, **_kwargs: None
    # The state would have stack traces; for them, the SDK reads the source of each caller of each resource.
    vars(resource)["_get_stack_trace"] = source_pb2.StackTrace
    vars(rpc)["declare_dependency"] = Dependencies().declare


class Dependencies:
    """The SDK's check for cycles, without its search of all dependencies if no cycle is possible."""

    def __init__(self) -> None:
        self._depended_on: weakref.WeakSet[pulumi.Resource] = weakref.WeakSet()

    def declare(self, from_resource: pulumi.Resource, to_resource: pulumi.Resource) -> bool:
        """Records the dependency; returns False, and does not record it, if it would close a cycle."""
        self._depended_on.add(to_resource)
        # If nothing depends on `from_resource` yet, no path from `to_resource` ends at it.
        if from_resource is to_resource or (
            from_resource in self._depended_on and _depends_on(to_resource, from_resource)
        ):
            return False
        resource_cycle_breaker._add_dep(from_resource, to_resource)
        return True


def _depends_on(start: pulumi.Resource, end: pulumi.Resource) -> bool:
    """Returns whether a path of dependencies leads from one resource to the other."""
    reached, pending = {start}, [start]
    while pending:
        new = resource_cycle_breaker._deps(pending.pop()) - reached
        if end in new:
            return True
        reached |= new
        pending.extend(new)
    return False
