"""Derives Kueue's resource groups from quotas by flavor."""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, Field

from settings.model.base import DnsSubdomain, Model, Quantity, ResourceName


class Quota(Model):
    """Quota of one resource in one flavor."""

    nominal: Quantity
    """Nominal quota; `cpu: 8` is short for `cpu: {nominal: 8}`."""
    borrowing_limit: Quantity | None = None
    """The most that may be borrowed from the cohort in addition; no limit if unset."""
    lending_limit: Quantity | None = None
    """The most of the nominal quota that others in the cohort may borrow; all of it if unset."""


def _bare_nominal(value: object) -> object:
    """Expands `cpu: 8` to `cpu: {nominal: 8}`."""
    return value if isinstance(value, dict) else {"nominal": value}


FlavorResources = dict[ResourceName, Annotated[Quota, BeforeValidator(_bare_nominal)]]
# A flavor without resources would be a resource group that covers none, which the API server refuses.
Quotas = dict[DnsSubdomain, Annotated[FlavorResources, Field(min_length=1)]]


class FlavorQuotas(NamedTuple):
    """A flavor of a resource group, with a quota for every covered resource, in the same order."""

    flavor: str
    quotas: dict[str, Quota]


class ResourceGroup(NamedTuple):
    """Resources that are assigned from one flavor together, and the flavors in the order they are tried."""

    covered: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]


def resource_groups(quotas: Mapping[str, Mapping[str, Quota]]) -> tuple[ResourceGroup, ...]:
    """Returns Kueue's resource groups.

    In Kueue a flavor and a resource each belong to one group only, and every flavor of a group has a quota
    for each of its resources (ClusterQueueSpec.resourceGroups). So flavors that share a resource form a
    group, and quotas missing from the file are 0.
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
