"""Kueue's resource groups out of quotas by flavor."""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator

from settings.model.base import DnsSubdomain, Model, Quantity, ResourceName


class Quota(Model):
    """Of one resource of one flavor."""

    nominal: Quantity
    """What the queue has for itself; `cpu: 8` is short for `cpu: {nominal: 8}`."""
    borrowing_limit: Quantity | None = None
    """The most it may borrow from its cohort beside that; 0: nothing, left out: no limit."""
    lending_limit: Quantity | None = None
    """The most of it that the cohort may lend while it is idle; left out: all of it."""


def _bare_nominal(value: object) -> object:
    """`cpu: 8` is short for `cpu: {nominal: 8}`."""
    return value if isinstance(value, dict) else {"nominal": value}


Quotas = dict[DnsSubdomain, dict[ResourceName, Annotated[Quota, BeforeValidator(_bare_nominal)]]]


class FlavorQuotas(NamedTuple):
    """A flavor of a resource group, with a quota for every covered resource, in that order."""

    flavor: str
    quotas: dict[str, Quota]


class ResourceGroup(NamedTuple):
    """Resources that come from one flavor together, and the flavors in the order they are tried."""

    covered: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]


def resource_groups(quotas: Mapping[str, Mapping[str, Quota]]) -> tuple[ResourceGroup, ...]:
    """Kueue's resource groups.

    There, a flavor and a resource each belong to one group only, and every flavor of a group gives a
    quota for each of its resources (ClusterQueueSpec.resourceGroups). So flavors that share a resource
    form a group, and what the file leaves unsaid is a quota of 0.
    """
    groups: list[list[str]] = []
    for flavor, resources in quotas.items():
        sharing = [group for group in groups if any(quotas[other].keys() & resources for other in group)]
        joined = [name for group in sharing for name in group]
        at = groups.index(sharing[0]) if sharing else len(groups)
        groups = [group for group in groups if group not in sharing]
        groups.insert(at, [*joined, flavor])
    return tuple(_resource_group(quotas, group) for group in groups)


def _resource_group(quotas: Mapping[str, Mapping[str, Quota]], flavors: list[str]) -> ResourceGroup:
    covered = tuple(dict.fromkeys(resource for flavor in flavors for resource in quotas[flavor]))
    none = Quota(nominal="0")
    return ResourceGroup(
        covered,
        tuple(
            FlavorQuotas(flavor, {name: quotas[flavor].get(name, none) for name in covered})
            for flavor in flavors
        ),
    )
