"""Leaves out what Pulumi's SDK for Python does for each resource and a plan does not need.

That is most of the time of a large program. The plan is the same: the tests compare it with golden ones.
"""

from __future__ import annotations

import weakref

import pulumi
from pulumi.runtime import resource, resource_cycle_breaker, rpc
from pulumi.runtime.proto import source_pb2


def take() -> None:
    """Takes all shortcuts, until this process ends."""
    # The SDK waits for the engine to have received each debug message, some ten a resource. The engine shows
    # them with `--debug` only.
    pulumi.log.debug = lambda *_args, **_kwargs: None
    # The state would name the program's lines; that reads the source of every caller of every resource.
    vars(resource)["_get_stack_trace"] = source_pb2.StackTrace
    vars(rpc)["declare_dependency"] = Dependencies().declare


class Dependencies:
    """The SDK's check for cycles, which searches all dependencies of a dependency, only where one can be."""

    def __init__(self) -> None:
        self._depended_on: weakref.WeakSet[pulumi.Resource] = weakref.WeakSet()

    def declare(self, from_resource: pulumi.Resource, to_resource: pulumi.Resource) -> bool:
        """Remembers the dependency; returns False if it would close a cycle, and is not remembered."""
        self._depended_on.add(to_resource)
        if from_resource is not to_resource and from_resource not in self._depended_on:
            # Nothing leads to it yet, so that no path from the other one does.
            resource_cycle_breaker._add_dep(from_resource, to_resource)
            return True
        return resource_cycle_breaker.declare_dependency(from_resource, to_resource)
