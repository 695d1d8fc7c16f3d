"""The component provider: the package's schema, and the construction of its components."""

import json

import pulumi
from pulumi.provider import ConstructResult, Provider

from muster import __version__
from package.components import EXPOSED
from package.schema import NAME, schema


class Package(Provider):
    """Constructs components for programs in any language."""

    def __init__(self) -> None:
        super().__init__(__version__, json.dumps(schema()))

    def construct(
        self,
        name: str,
        resource_type: str,
        inputs: pulumi.Inputs,
        options: pulumi.ResourceOptions | None = None,
    ) -> ConstructResult:
        """Declares a component and its resources; returns its URN and outputs."""
        component = EXPOSED[resource_type.removeprefix(f"{NAME}:index:")](name, inputs, options)
        return ConstructResult(component.urn, component.results)
