"""Queues: a tree of cohorts, cluster queues with their quotas by flavor, and how they share and preempt."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from typing_extensions import Doc

from settings.model.base import DnsSubdomain, Model, amount, refuse
from settings.model.queues.resource_groups import Quotas, ResourceGroup, resource_groups

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


Weight = Annotated[str, BeforeValidator(_weight), Doc("number")]


class BorrowWithinCohort(Model):
    """Whether a queue that has to borrow may preempt for it (Kueue: preemption.borrowWithinCohort)."""

    policy: Literal["Never", "LowerPriority"] = "Never"
    """`LowerPriority`: it may preempt lower priorities in the cohort (engines muster and kueue)."""
    max_priority_threshold: int | None = None
    """The highest priority that may be preempted so; left out: any lower one."""


class Preemption(Model):
    """Kueue's ClusterQueuePreemption, by its own enum names."""

    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never"
    """Whom of its own queue a gang may take the place of: nobody, lower priorities, or newer gangs of the
    same priority too."""
    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] = "Never"
    """Whether a queue takes back what others of its cohort borrowed: from nobody, from lower priorities, or
    from anyone."""
    borrow_within_cohort: BorrowWithinCohort | None = None
    """Needs `reclaimWithinCohort`; engines muster and kueue."""


class FlavorFungibility(Model):
    """When the search for a better flavor ends; with both at TryNextFlavor, which of two is better."""

    when_can_borrow: FlavorPolicy = "MayStopSearch"
    """Whether the search ends at a flavor in which the gang fits by borrowing."""
    when_can_preempt: FlavorPolicy = "TryNextFlavor"
    """Whether the search ends at a flavor in which the gang fits by preempting."""
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None
    """Which of the two is better, where both search on; left out: Kueue's BorrowingOverPreemption."""

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
    """By which cluster queues and other cohorts name it."""
    parent: DnsSubdomain | None = None
    """The cohort above, with which it borrows and lends; without one it is a root."""
    quotas: Quotas = Field(default_factory=dict)
    """By flavor and resource, what it has to give beside what its queues bring in."""
    weight: Weight | None = None
    """Its share among those under the same parent, 1 unless given (engines muster and kueue with
    `fairSharing`, engine kai)."""

    @property
    def resource_groups(self) -> tuple[ResourceGroup, ...]:
        return resource_groups(self.quotas)


class ClusterQueue(Model):
    """A ClusterQueue: gangs wait in it, by priority and age, for its quotas or what it can borrow."""

    name: DnsSubdomain
    """By which tenants' `queues` name it."""
    cohort: DnsSubdomain | None = None
    """Whom it borrows from and lends to; without one, nobody."""
    quotas: Annotated[Quotas, Field(min_length=1)]
    """By flavor and resource; flavors are tried in the order in which they stand here."""
    preemption: Preemption = Preemption()
    """Whose place its gangs may take; nobody's unless given."""
    strategy: Strategy = "BestEffortFIFO"
    """`StrictFIFO`: a gang that does not fit holds back all behind it; `BestEffortFIFO`: smaller ones may go
    ahead."""
    flavor_fungibility: FlavorFungibility | None = None
    """When to look for a better flavor; Kueue's defaults unless given."""
    weight: Weight | None = None
    """Its share in its cohort, 1 unless given (engines muster and kueue with `fairSharing`, engine kai)."""
    checks: dict[DnsSubdomain, tuple[DnsSubdomain, ...]] = Field(default_factory=dict)
    """Admission checks beside queued provisioning's, each with the flavors it holds for (none: all)."""
    stop: Literal["None", "Hold", "HoldAndDrain"] = "None"
    """`Hold`: nothing new is admitted; `HoldAndDrain`: what runs is sent away too."""
    namespaces: dict[str, str] = Field(default_factory=dict)
    """Labels that a namespace must carry to use the queue (none: any namespace)."""

    @property
    def resource_groups(self) -> tuple[ResourceGroup, ...]:
        return resource_groups(self.quotas)


class CheckParameters(Model):
    """The object that an admission check's controller reads its parameters from."""

    api_group: DnsSubdomain
    """Such as budgets.example.com."""
    kind: str
    """Such as Budget."""
    name: DnsSubdomain
    """Of that object."""


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
    """By which cluster queues' `checks` name it."""
    controller: Annotated[str, AfterValidator(_foreign_controller), Doc("controller name")]
    """The controllerName that the controller answers to."""
    parameters: CheckParameters | None = None
    """Given to it as the check's `spec.parameters`."""

    def spec(self) -> dict[str, Any]:
        """The AdmissionCheck's spec."""
        spec: dict[str, Any] = {"controllerName": self.controller}
        if self.parameters:
            spec["parameters"] = self.parameters.model_dump(by_alias=True)
        return spec


class Queues(Model):
    """Cohorts at the top, cluster queues under them; tenants' local queues lead to these."""

    cohorts: tuple[Cohort, ...] = ()
    """The quota tree above the cluster queues."""
    cluster_queues: Annotated[tuple[ClusterQueue, ...], Field(min_length=1)]
    """Where quotas are; each gang waits in one."""
    checks: tuple[AdmissionCheck, ...] = ()
    """Those of controllers of your own; queued pools get theirs by themselves."""
