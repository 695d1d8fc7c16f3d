"""The base class of the package's components. Their inputs are parts of a stack file, and checked as one."""

import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import pulumi

from components.base import Component
from settings.load import SettingsError, parse, warnings
from settings.model.base import Model
from settings.model.stack import NAMESPACE, PROJECT, SECTIONS, Settings
from settings.problems import Problem

EXISTING = {"kind": "existing", "name": "of-the-provider"}
"""The section `cluster` of components that declare objects in the cluster of the Kubernetes provider."""


class Later:
    """Marks an input that may be an Output; the others are plain values."""


class Exposed(Component):
    """A component of the package.

    inputs, outputs: models of both, from which the schema is generated.
    places: inputs by where they are in a stack file, if they are not its sections themselves.
    absent: sections of a stack file that the component does not have, by their names in Settings.
    results: the outputs, by their names in the schema.
    """

    inputs: ClassVar[type[Model]]
    outputs: ClassVar[type[Model]]
    places: ClassVar[Mapping[str, str]] = {}
    absent: ClassVar[frozenset[str]] = frozenset()

    def __init__(
        self, name: str, arguments: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None
    ) -> None:
        inputs = _whole(arguments)
        settings = self._settings(name, inputs)
        super().__init__(type(self).__name__, name, opts, module="index")
        self.results = self.declare(settings, inputs)
        self.register_outputs(self.results)

    @abstractmethod
    def sections(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns these inputs as the sections of a stack file, whose rules apply to them.

        The inputs may be wrong. Keys are without `muster:`.
        """

    @abstractmethod
    def declare(self, settings: Settings, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Declares the component's children; returns its outputs."""

    def _settings(self, name: str, inputs: Mapping[str, Any]) -> Settings:
        sections = self.sections(inputs)
        config = {PROJECT if key == "project" else NAMESPACE + key: part for key, part in sections.items()}
        where = f"{type(self).__name__} {name}"
        try:
            settings = parse(config, where, SECTIONS - self.absent)
        except SettingsError as error:
            problems = {self._input(problem.path): problem for problem in error.problems}
        else:
            for text in warnings(settings, SECTIONS - self.absent):
                pulumi.log.warn(f"{where}: {self._input(text)}")
            return settings
        names = {field_name(self.inputs, field) for field in self.inputs.model_fields}
        # What is wrong elsewhere only follows from wrong inputs.
        own = {path: problem for path, problem in problems.items() if re.split(r"[.\[]", path)[0] in names}
        raise _refusal(where, own or problems)

    def _input(self, path: str) -> str:
        """Returns the path of an input, from that in a stack file."""
        path = path.removeprefix(NAMESPACE).replace(PROJECT, "project")
        for place, name in self.places.items():
            if path.startswith(place):
                return name + path.removeprefix(place)
        return path


def _refusal(where: str, problems: Mapping[str, Problem]) -> pulumi.InputPropertiesError:
    return pulumi.InputPropertiesError(
        f"{where}: nothing was created",
        [{"property_path": path, "reason": problem.why} for path, problem in problems.items()],
    )


def field_name(model: type[Model], field: str) -> str:
    """Returns the name of a model's field in the schema."""
    alias = model.model_fields[field].alias or field
    return alias.removeprefix(NAMESPACE).replace(PROJECT, "project")


def _whole(value: Any) -> Any:
    """Returns inputs with whole numbers as integers: the engine sends all numbers as floating-point ones."""
    if isinstance(value, Mapping):
        return {key: _whole(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_whole(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
