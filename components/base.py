"""What every component of the platform shares."""

from typing import Any

import pulumi


class Component(pulumi.ComponentResource):
    """A component whose children wait for what the component was told to wait for.

    Pulumi orders a component after its `depends_on` but records no such dependency for its children, so
    they would be deleted in any order; `child` hands it on to them.
    """

    def __init__(self, kind: str, name: str, opts: pulumi.ResourceOptions | None) -> None:
        super().__init__(f"muster:platform:{kind}", name, None, opts)
        self._after = opts.depends_on if opts else None

    def child(self, **options: Any) -> pulumi.ResourceOptions:
        """The options of a child, with `options` (those of pulumi.ResourceOptions) beside the shared ones."""
        shared = pulumi.ResourceOptions(parent=self, depends_on=self._after)
        return pulumi.ResourceOptions.merge(shared, pulumi.ResourceOptions(**options))
