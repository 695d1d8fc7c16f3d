"""The types of rules: an id, a description, its source, and the check itself.

A check is a function of properties that yields one message per violation, with the remedy.
Its docstring is the description that users read first: the requirement and its reason, in a sentence or two.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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


ResourceCheck = Callable[[Resource], Iterator[str]]
StackCheck = Callable[[Sequence[Resource]], Iterator[Violation]]
# Returns the properties to change, from the environment's configuration of the rule, such as labels.
Remediation = Callable[[Resource, Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True)
class Rule:
    """`description`: the requirement and its reason. `source`: its sources, with ids of other catalogues."""

    id: str
    description: str
    source: str
    severity: Severity


@dataclass(frozen=True)
class ResourceRule(Rule):
    """Checks each resource of the `kinds` by itself; `remediation` fixes it where that is enabled."""

    kinds: frozenset[str]
    check: ResourceCheck
    remediation: Remediation | None = None


@dataclass(frozen=True)
class StackRule(Rule):
    """Checks all resources of a stack together."""

    check: StackCheck


def resource_rule(
    id: str, *kinds: str, source: str, severity: Severity, remediation: Remediation | None = None
) -> Callable[[ResourceCheck], ResourceRule]:
    """Turns a check into a rule; `kinds` as in `Resource.kind`."""

    def make(check: ResourceCheck) -> ResourceRule:
        return ResourceRule(id, _description(check), source, severity, frozenset(kinds), check, remediation)

    return make


def stack_rule(id: str, *, source: str, severity: Severity) -> Callable[[StackCheck], StackRule]:
    """Turns a check of the whole stack into a rule."""

    def make(check: StackCheck) -> StackRule:
        return StackRule(id, _description(check), source, severity, check)

    return make


def _description(check: Callable[..., Any]) -> str:
    assert check.__doc__, f"{check.__name__} must have a docstring: the requirement and its reason"
    return " ".join(cleandoc(check.__doc__).split())
