"""The types of rules: an id, a description, its source, and the check itself.

A check is a function of properties that yields one message per violation, with the remedy.
Its docstring is the description that users read first: the requirement and its reason, in a sentence or two.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from inspect import cleandoc
from typing import Any, Literal, NamedTuple

Severity = Literal["low", "medium", "high", "critical"]

_API_VERSION = re.compile(r"/v[0-9][a-z0-9]*:")


@dataclass(frozen=True)
class Resource:
    """A resource as a policy sees it; in a preview, as the program declared it.

    type: Pulumi's token, such as `gcp:container/nodePool:NodePool`. name: its name in the program.
    props: in camelCase; reading one whose value is unknown raises pulumi_policy's UnknownValueError.
    protect: whether Pulumi refuses to delete it.
    """

    type: str
    name: str
    props: Mapping[str, Any]
    protect: bool = False
    urn: str = ""

    @property
    def kind(self) -> str:
        """The type without the version of a Kubernetes API: `kubernetes:apps:Deployment`."""
        return _API_VERSION.sub(":", self.type)


class Violation(NamedTuple):
    """A resource that breaks a rule of the whole stack, and what to do."""

    resource: Resource
    message: str


# Properties of a rule in the environment's configuration, such as allowed registries.
Config = Mapping[str, Any]
# Called with the resource or the stack's resources, and by a rule with `parameters` also with its Config.
ResourceCheck = Callable[..., Iterator[str]]
StackCheck = Callable[..., Iterator[Violation]]
# Returns the properties to change, from the environment's configuration of the rule, such as labels.
Remediation = Callable[[Resource, Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True)
class Rule:
    """`description`: the requirement and its reason. `source`: its sources, with ids of other catalogues.

    parameters: JSON schemas of the properties that an environment's configuration may give to the check.
    """

    id: str
    description: str
    source: str
    severity: Severity
    parameters: Mapping[str, Any] = field(kw_only=True, default_factory=dict)

    def _arguments(self, config: Config) -> tuple[Config, ...]:
        return (config,) if self.parameters else ()


@dataclass(frozen=True)
class ResourceRule(Rule):
    """Checks each resource of the `kinds` by itself; `remediation` fixes it where that is enabled.

    kinds: as in `Resource.kind`; `*` matches any text, as in `gcp:*`.
    """

    kinds: frozenset[str]
    check: ResourceCheck
    remediation: Remediation | None = None

    def reads(self, kind: str) -> bool:
        """Returns whether the rule checks resources of this kind."""
        return kind in self.kinds or any(fnmatchcase(kind, kinds) for kinds in self.kinds if "*" in kinds)

    def messages(self, resource: Resource, config: Config) -> Iterator[str]:
        """Yields a message for each violation by this resource."""
        return self.check(resource, *self._arguments(config))


@dataclass(frozen=True)
class StackRule(Rule):
    """Checks all resources of a stack together."""

    check: StackCheck

    def violations(self, resources: Sequence[Resource], config: Config) -> Iterator[Violation]:
        """Yields the violations of a stack with these resources."""
        return self.check(resources, *self._arguments(config))


def resource_rule(
    id: str,
    *kinds: str,
    source: str,
    severity: Severity,
    remediation: Remediation | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Callable[[ResourceCheck], ResourceRule]:
    """Turns a check into a rule; `kinds` and `parameters` as in ResourceRule."""

    def make(check: ResourceCheck) -> ResourceRule:
        return ResourceRule(
            id,
            _description(check),
            source,
            severity,
            frozenset(kinds),
            check,
            remediation,
            parameters=parameters or {},
        )

    return make


def stack_rule(
    id: str, *, source: str, severity: Severity, parameters: Mapping[str, Any] | None = None
) -> Callable[[StackCheck], StackRule]:
    """Turns a check of the whole stack into a rule."""

    def make(check: StackCheck) -> StackRule:
        return StackRule(id, _description(check), source, severity, check, parameters=parameters or {})

    return make


def _description(check: Callable[..., Any]) -> str:
    assert check.__doc__, f"{check.__name__} must have a docstring: the requirement and its reason"
    return " ".join(cleandoc(check.__doc__).split())
