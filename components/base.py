"""The base class of the platform's components, and the names of their children."""

from typing import Any

import pulumi
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.settings import get_monitor

STACK_PLATFORM = "muster"
"""Name of the platform of this repository's own stacks. Its children have no prefix, as when the stacks were
first deployed: another name would recreate them."""


class Component(pulumi.ComponentResource):
    """A component that passes to its children its `depends_on` and `deleted_with`, and the name of the
    outermost one.

    Pulumi orders a component after its `depends_on` but records no such dependency for its children, so
    they would be deleted in any order; `child` adds it to their options. `named` makes their names: two
    components of one program would otherwise declare children of the same name, which Pulumi refuses.
    """

    def __init__(
        self, kind: str, name: str, opts: pulumi.ResourceOptions | None, *, module: str = "platform"
    ) -> None:
        above = opts.parent if opts else None
        own = name if above is None or not isinstance(above, Component) else above.named(name)
        super().__init__(f"muster:{module}:{kind}", own, None, opts)
        self._after = opts.depends_on if opts else None
        self._deleted_with = opts.deleted_with if opts else None
        if isinstance(above, Component):
            self._prefix: str = above._prefix
        else:
            self._prefix = "" if name == STACK_PLATFORM else f"{name}-"

    def child(self, **options: Any) -> pulumi.ResourceOptions:
        """Returns a child's options: the shared ones merged with `options` (of pulumi.ResourceOptions)."""
        shared = pulumi.ResourceOptions(parent=self, depends_on=self._after, deleted_with=self._deleted_with)
        return pulumi.ResourceOptions.merge(shared, pulumi.ResourceOptions(**options))

    def named(self, name: str) -> str:
        """Returns the name of a child, which begins with that of the outermost component."""
        return f"{self._prefix}{name}"


def named(name: str, opts: pulumi.ResourceOptions) -> str:
    """Returns the name of a resource with these options: that of a child, if its parent is a component."""
    return opts.parent.named(name) if isinstance(opts.parent, Component) else name


def before_writes(hook: pulumi.ResourceHookFunction, name: str) -> pulumi.ResourceHookBinding | None:
    """Returns the option `hooks` that calls a function, by a name that is unique in the program, before the
    resource is created or updated; None under Pulumi's mocks, as for `transforms`."""
    if isinstance(get_monitor(), MockMonitor):
        return None
    named_hook = pulumi.ResourceHook(name, hook)
    return pulumi.ResourceHookBinding(before_create=[named_hook], before_update=[named_hook])


def transforms(*functions: pulumi.ResourceTransform) -> list[pulumi.ResourceTransform]:
    """Returns the option of that name, without transforms under Pulumi's mocks: these raise an exception
    instead, and the unit tests of programs that use the components would fail."""
    return [] if isinstance(get_monitor(), MockMonitor) else list(functions)
