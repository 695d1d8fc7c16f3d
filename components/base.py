"""The base class of the platform's components."""

from typing import Any

import pulumi


class Component(pulumi.ComponentResource):
    """A component that passes its own `depends_on` on to its children.

    Pulumi orders a component after its `depends_on` but records no such dependency for its children, so
    they would be deleted in any order; `child` adds it to their options.
    """

    def __init__(self, kind: str, name: str, opts: pulumi.ResourceOptions | None) -> None:
        super().__init__(f"muster:platform:{kind}", name, None, opts)
        self._after = opts.depends_on if opts else None

    def child(self, **options: Any) -> pulumi.ResourceOptions:
        """Returns a child's options: the shared ones merged with `options` (of pulumi.ResourceOptions)."""
        shared = pulumi.ResourceOptions(parent=self, depends_on=self._after)
        return pulumi.ResourceOptions.merge(shared, pulumi.ResourceOptions(**options))
