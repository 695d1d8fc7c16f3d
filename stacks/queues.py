"""Queues: a tree of cohorts, cluster queues with their quotas by flavor, and how they share and preempt."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from stacks.model import DnsSubdomain, Model, amount, refuse
from stacks.resource_groups import Quotas, ResourceGroup, resource_groups

Strategy = Literal["StrictFIFO", "BestEffortFIFO"]
FlavorPolicy = Literal["MayStopSearch", "TryNextFlavor"]
# The controller name of the check that queued pools get (Kueue; Muster answers to it as well).
PROVISIONING_CONTROLLER = "kueue.x-k8s.io/provisioning-request"


def _weight(value: object) -> object:
    """A fair-sharing weight is a Kubernetes quantity; YAML reads `2` and `0.5` as numbers."""
    text = str(value)
    try:
        good = not isinstance(value, bool) and amount(text) >= 0
    except ValueError:
        good = False
    if not good:
        refuse("a weight of 0 or more, 1 being the usual one", "write a number, such as 2 or 0.5")
    return text


Weight = Annotated[str, BeforeValidator(_weight)]


class BorrowWithinCohort(Model):
    """Whether a queue that has to borrow may preempt for it (Kueue: preemption.borrowWithinCohort)."""

    policy: Literal["Never", "LowerPriority"] = "Never"
    max_priority_threshold: int | None = None


class Preemption(Model):
    """Kueue's ClusterQueuePreemption, by its own enum names."""

    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never"
    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] = "Never"
    borrow_within_cohort: BorrowWithinCohort | None = None


class FlavorFungibility(Model):
    """When the search for a better flavor ends; with both at TryNextFlavor, which of two is better."""

    when_can_borrow: FlavorPolicy = "MayStopSearch"
    when_can_preempt: FlavorPolicy = "TryNextFlavor"
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None

    @model_validator(mode="after")
    def _preference_has_something_to_choose(self) -> Self:
        tries_all = self.when_can_borrow == self.when_can_preempt == "TryNextFlavor"
        if self.preference and not tries_all:
            refuse(
                "a preference only where whenCanBorrow and whenCanPreempt are both TryNextFlavor (Kueue)",
                "remove `preference`, or set both to TryNextFlavor",
            )
        return self


class Cohort(Model):
    """A node of the quota tree: what it lends to those under it, beside what they bring in."""

    name: DnsSubdomain
    parent: DnsSubdomain | None = None
    quotas: Quotas = Field(default_factory=dict)
    weight: Weight | None = None

    @property
    def resource_groups(self) -> tuple[ResourceGroup, ...]:
        return resource_groups(self.quotas)


class ClusterQueue(Model):
    """A ClusterQueue; flavors are tried in the order in which `quotas` names them.

    checks: admission checks beside queued provisioning's, each with the flavors it holds for (none: all).
    namespaces: labels that a namespace must carry to use the queue (none: any namespace).
    """

    name: DnsSubdomain
    cohort: DnsSubdomain | None = None
    quotas: Annotated[Quotas, Field(min_length=1)]
    preemption: Preemption = Preemption()
    strategy: Strategy = "BestEffortFIFO"
    flavor_fungibility: FlavorFungibility | None = None
    weight: Weight | None = None
    checks: dict[DnsSubdomain, tuple[DnsSubdomain, ...]] = Field(default_factory=dict)
    stop: Literal["None", "Hold", "HoldAndDrain"] = "None"
    namespaces: dict[str, str] = Field(default_factory=dict)

    @property
    def resource_groups(self) -> tuple[ResourceGroup, ...]:
        return resource_groups(self.quotas)


class CheckParameters(Model):
    """The object that an admission check's controller reads its parameters from."""

    api_group: DnsSubdomain
    kind: str
    name: DnsSubdomain


def _foreign_controller(name: str) -> str:
    if name == PROVISIONING_CONTROLLER:
        refuse(
            "another controller: queued pools get their provisioning check by themselves",
            "remove this check; `muster:admission.queuedProvisioning` is where it is set",
        )
    return name


class AdmissionCheck(Model):
    """A check that a controller of your own answers, such as one that asks for a budget."""

    name: DnsSubdomain
    controller: Annotated[str, AfterValidator(_foreign_controller)]
    parameters: CheckParameters | None = None

    def spec(self) -> dict[str, Any]:
        """The AdmissionCheck's spec."""
        spec: dict[str, Any] = {"controllerName": self.controller}
        if self.parameters:
            spec["parameters"] = self.parameters.model_dump(by_alias=True)
        return spec


class Queues(Model):
    cohorts: tuple[Cohort, ...] = ()
    cluster_queues: Annotated[tuple[ClusterQueue, ...], Field(min_length=1)]
    checks: tuple[AdmissionCheck, ...] = ()
