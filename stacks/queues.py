"""Queues: cohorts, cluster queues with their quotas by flavor, and Kueue's resource groups from them."""

from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from stacks.model import DnsSubdomain, Model, Quantity, ResourceName

Strategy = Literal["StrictFIFO", "BestEffortFIFO"]


class Quota(Model):
    """Of one resource of one flavor; a limit left out means no limit, as in Kueue."""

    nominal: Quantity
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


def _bare_nominal(value: object) -> object:
    """`cpu: 8` is short for `cpu: {nominal: 8}`."""
    return value if isinstance(value, dict) else {"nominal": value}


Quotas = dict[DnsSubdomain, dict[ResourceName, Annotated[Quota, BeforeValidator(_bare_nominal)]]]


class Preemption(Model):
    """Kueue's ClusterQueuePreemption, by its own enum names."""

    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never"
    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] = "Never"


class Cohort(Model):
    name: DnsSubdomain
    parent: DnsSubdomain | None = None


class FlavorQuotas(NamedTuple):
    """A flavor of a resource group, with a quota for every covered resource, in that order."""

    flavor: str
    quotas: dict[str, Quota]


class ResourceGroup(NamedTuple):
    """Resources that come from one flavor together, and the flavors in the order they are tried."""

    covered: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]


class ClusterQueue(Model):
    """A ClusterQueue; flavors are tried in the order in which `quotas` names them."""

    name: DnsSubdomain
    cohort: DnsSubdomain | None = None
    quotas: Annotated[Quotas, Field(min_length=1)]
    preemption: Preemption = Preemption()
    strategy: Strategy = "BestEffortFIFO"

    @property
    def resource_groups(self) -> tuple[ResourceGroup, ...]:
        """Kueue's resource groups.

        There, a flavor and a resource each belong to one group only, and every flavor of a group gives a
        quota for each of its resources (ClusterQueueSpec.resourceGroups). So flavors that share a resource
        form a group, and what the file leaves unsaid is a quota of 0.
        """
        groups: list[list[str]] = []
        for flavor, quotas in self.quotas.items():
            sharing = [
                group for group in groups if any(self.quotas[other].keys() & quotas for other in group)
            ]
            joined = [name for group in sharing for name in group]
            at = groups.index(sharing[0]) if sharing else len(groups)
            groups = [group for group in groups if group not in sharing]
            groups.insert(at, [*joined, flavor])
        return tuple(self._resource_group(group) for group in groups)

    def _resource_group(self, flavors: list[str]) -> ResourceGroup:
        covered = tuple(dict.fromkeys(resource for flavor in flavors for resource in self.quotas[flavor]))
        none = Quota(nominal="0")
        return ResourceGroup(
            covered,
            tuple(
                FlavorQuotas(flavor, {name: self.quotas[flavor].get(name, none) for name in covered})
                for flavor in flavors
            ),
        )


class Queues(Model):
    cohorts: tuple[Cohort, ...] = ()
    cluster_queues: Annotated[tuple[ClusterQueue, ...], Field(min_length=1)]
