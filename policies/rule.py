"""What a rule is: an id, what it asks and why, where that is written, and the check itself.

A check is a function of properties that yields one message a violation, each saying what to do.
Its docstring is what users read first: what is asked and why, in a sentence or two.
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
    """A resource as a policy sees it: in a preview that is what the program declared.

    type: Pulumi's token, such as `gcp:container/nodePool:NodePool`. name: that in the program.
    props: in camelCase; reading one whose value is not known yet raises pulumi_policy's UnknownValueError.
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
    """Which resource breaks a rule of the whole stack, and what to do."""

    resource: Resource
    message: str


ResourceCheck = Callable[[Resource], Iterator[str]]
StackCheck = Callable[[Sequence[Resource]], Iterator[Violation]]
# Takes the labels, or whatever else the environment's configuration gives, to the properties to change.
Remedy = Callable[[Resource, Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True)
class Rule:
    """`says`: what is asked and why. `source`: where that is written, ids of other catalogues included."""

    id: str
    says: str
    source: str
    severity: Severity


@dataclass(frozen=True)
class ResourceRule(Rule):
    """Judges each resource of the `kinds` by itself; `remedy` mends one where the environment asks for it."""

    kinds: frozenset[str]
    check: ResourceCheck
    remedy: Remedy | None = None


@dataclass(frozen=True)
class StackRule(Rule):
    """Judges all resources of a stack together."""

    check: StackCheck


def resource_rule(
    id: str, *kinds: str, source: str, severity: Severity, remedy: Remedy | None = None
) -> Callable[[ResourceCheck], ResourceRule]:
    """Makes a rule of a check; `kinds` as in `Resource.kind`."""

    def make(check: ResourceCheck) -> ResourceRule:
        return ResourceRule(id, _says(check), source, severity, frozenset(kinds), check, remedy)

    return make


def stack_rule(id: str, *, source: str, severity: Severity) -> Callable[[StackCheck], StackRule]:
    """Makes a rule of a check of the whole stack."""

    def make(check: StackCheck) -> StackRule:
        return StackRule(id, _says(check), source, severity, check)

    return make


def _says(check: Callable[..., Any]) -> str:
    assert check.__doc__, f"{check.__name__} has to say what it asks and why"
    return " ".join(cleandoc(check.__doc__).split())
